-- Gives units back to the slots they were taken in, if these are still there. ARGV has slot and
-- units for each key.
for number, key in ipairs(KEYS) do
    local slot, units = unpack(ARGV, 2 * number - 1, 2 * number)
    local left = (tonumber(redis.call('HGET', key, slot)) or 0) - units
    if left > 0 then
        redis.call('HSET', key, slot, left)
    else
        redis.call('HDEL', key, slot)
    end
end
return 0
