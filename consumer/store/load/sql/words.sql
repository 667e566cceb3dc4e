-- The words of a document's passages and of the headings above them, by their stems.
INSERT INTO docs.word (tenant_id, word, document_id, places, times, words)
SELECT $1, found.lexeme, $2,
       array_agg(chunk.place ORDER BY chunk.place),
       array_agg(least(cardinality(found.positions), 1000)::smallint ORDER BY chunk.place),
       array_agg(least(chunk.words, 30000)::smallint ORDER BY chunk.place)
FROM docs.chunk AS chunk,
     unnest(to_tsvector('pg_catalog.english', chunk.headings || ' ' || array_to_string(chunk.sentences, ' '))) AS found
WHERE chunk.tenant_id = $1 AND chunk.document_id = $2 AND length(found.lexeme) <= 100
GROUP BY found.lexeme;
