-- Takes from all limits, or from none. A key is a hash from slots to units. For each key, ARGV has
-- the limit, the milliseconds of its period and the wanted units, after the number of slots.
-- Returns 1 or 0 and, for each key: units used before, current slot, milliseconds until the oldest
-- slot ends, milliseconds until the wanted units fit (-1 if they never do).
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local slots = tonumber(ARGV[1])
local answer = {1}
for number, key in ipairs(KEYS) do
    local limit, period, wanted = unpack(ARGV, 3 * number - 1, 3 * number + 1)
    local width = period / slots
    local slot = math.floor(now / width)
    local taken, used = {}, 0
    local stored = redis.call('HGETALL', key)
    for at = 1, #stored, 2 do
        if slot - stored[at] > slots then
            redis.call('HDEL', key, stored[at])
        else
            taken[#taken + 1] = {tonumber(stored[at]), tonumber(stored[at + 1])}
            used = used + stored[at + 1]
        end
    end
    table.sort(taken, function(one, other) return one[1] < other[1] end)
    local reset, wait, excess = 0, 0, used + wanted - limit
    if taken[1] then reset = math.ceil((taken[1][1] + slots + 1) * width - now) end
    if excess > 0 and tonumber(wanted) > 0 then
        answer[1], wait = 0, -1
        for _, each in ipairs(taken) do
            excess = excess - each[2]
            if excess <= 0 then
                wait = math.ceil((each[1] + slots + 1) * width - now)
                break
            end
        end
    end
    for _, value in ipairs({used, slot, reset, wait}) do answer[#answer + 1] = value end
end
if answer[1] == 1 then
    for number, key in ipairs(KEYS) do
        local period, wanted = unpack(ARGV, 3 * number, 3 * number + 1)
        redis.call('HINCRBY', key, string.format('%.0f', answer[4 * number - 1]), wanted)
        redis.call('PEXPIRE', key, math.ceil(period * (1 + 2 / slots)))
    end
end
return answer
