-- Says that a collection is being destroyed.
-- KEYS: collections. ARGV: a name, what it stands for, what it stands for from now on.
if redis.call('HGET', KEYS[1], ARGV[1]) ~= ARGV[2] then return 0 end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
return 1
