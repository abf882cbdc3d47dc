-- KEYS: a string of entries. ARGV: the size of an entry, a version.
cut(KEYS[1], tonumber(ARGV[1]), ARGV[2])
return 1
