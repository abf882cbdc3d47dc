-- KEYS: collections, dead. ARGV: a name, what it stands for, its number.
if redis.call('HGET', KEYS[1], ARGV[1]) ~= ARGV[2] then return 0 end
redis.call('SADD', KEYS[2], ARGV[3])
redis.call('HDEL', KEYS[1], ARGV[1])
return 1
