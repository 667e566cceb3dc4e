-- The words of a document's passages and of the headings above them, by their stems.
INSERT INTO docs.word (tenant_id, word, document_id, place, times, words)
SELECT chunk.tenant_id, found.lexeme, chunk.document_id, chunk.place,
       least(cardinality(found.positions), 1000)::smallint, chunk.words
FROM docs.chunk AS chunk,
     unnest(to_tsvector('pg_catalog.english', chunk.headings || ' ' || array_to_string(chunk.sentences, ' '))) AS found
WHERE chunk.tenant_id = $1 AND chunk.document_id = $2 AND length(found.lexeme) <= 100;
