-- The passages of a tenant that answer to the words of a question, best first: BM25 (k1 1.2, b 0.75) over docs.word.
-- $1 the tenant, $2 the question, $3 how many passages.
--
-- Each comes with its sentences, the words of the question that each sentence or its headings hold, and every word of
-- the question with its rarity: what the answer needs to tell a passage that answers from one that only sounds alike.
WITH asked AS (
    SELECT DISTINCT word.lexeme FROM unnest(to_tsvector('pg_catalog.english', $2::text)) AS word
),
corpus AS (
    SELECT greatest(corpus.passages, 1)::double precision AS passages,
           greatest(corpus.words, 1)::double precision / greatest(corpus.passages, 1) AS usual_words
    FROM docs.corpus AS corpus
    WHERE corpus.tenant_id = $1
),
found AS MATERIALIZED (
    SELECT word.word, word.document_id, hit.place, hit.times, hit.words
    FROM asked
    JOIN docs.word AS word ON word.tenant_id = $1 AND word.word = asked.lexeme
    CROSS JOIN LATERAL unnest(word.places, word.times, word.words) AS hit (place, times, words)
),
rarity AS MATERIALIZED (
    SELECT asked.lexeme, ln(1 + (corpus.passages - known.passages + 0.5) / (known.passages + 0.5)) AS weight
    FROM asked
    CROSS JOIN corpus
    CROSS JOIN LATERAL (SELECT count(*)::double precision AS passages FROM found WHERE found.word = asked.lexeme) AS known
),
ranked AS MATERIALIZED (
    SELECT found.document_id, found.place,
           sum(rarity.weight * found.times * 2.2
               / (found.times + 1.2 * (0.25 + 0.75 * found.words / corpus.usual_words))) AS score
    FROM found
    JOIN rarity ON rarity.lexeme = found.word
    CROSS JOIN corpus
    GROUP BY found.document_id, found.place
    ORDER BY score DESC, found.document_id, found.place
    LIMIT $3
)
SELECT document.name AS document,
       chunk.section,
       chunk.sentences,
       ranked.score,
       ARRAY(SELECT rarity.lexeme FROM rarity ORDER BY rarity.lexeme) AS words,
       ARRAY(SELECT rarity.weight FROM rarity ORDER BY rarity.lexeme) AS weights,
       ARRAY(SELECT rarity.lexeme FROM rarity
             WHERE rarity.lexeme = ANY (tsvector_to_array(to_tsvector('pg_catalog.english', chunk.headings)))
             ORDER BY rarity.lexeme) AS heading_words,
       ARRAY(SELECT coalesce((SELECT string_agg(rarity.lexeme, ' ' ORDER BY rarity.lexeme) FROM rarity
                              WHERE rarity.lexeme = ANY (tsvector_to_array(to_tsvector('pg_catalog.english', sentence.text)))), '')
             FROM unnest(chunk.sentences) WITH ORDINALITY AS sentence (text, place)
             ORDER BY sentence.place) AS sentence_words
FROM ranked
JOIN docs.chunk AS chunk
  ON chunk.tenant_id = $1 AND chunk.document_id = ranked.document_id AND chunk.place = ranked.place
JOIN docs.document AS document
  ON document.tenant_id = $1 AND document.document_id = ranked.document_id
ORDER BY ranked.score DESC, document.name, chunk.place
