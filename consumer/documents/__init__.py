"""The tenant's own documents: cut into passages with their headings, found by words, quoted and never obeyed."""
