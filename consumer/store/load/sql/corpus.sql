-- How much a tenant's documents hold, counted anew after a load.
INSERT INTO docs.corpus AS known (tenant_id, passages, words)
SELECT $1, count(*), coalesce(sum(chunk.words), 0) FROM docs.chunk AS chunk WHERE chunk.tenant_id = $1
ON CONFLICT (tenant_id) DO UPDATE SET passages = excluded.passages, words = excluded.words;
