-- A row is text of fixed columns: epoch, horizon, expiry, token, and the holder to the end. Numbers have 19 digits and
-- are compared as text, since those of Lua are exact up to 2^53 only; digits of one width have one order in every
-- locale. Only the expiry, in milliseconds since 1970, becomes a number: it stays far below that.

local key = KEYS[1]

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

local function digits(n) return string.format('%019.0f', n) end

-- parse returns nil for what is no row.
local function parse(text)
  local epoch, horizon, expires, token, holder = string.match(text,
    '^(%d+) (%d+) (%d+) (%x+) (.*)$')
  if not holder or #epoch ~= 19 or #horizon ~= 19 or #expires ~= 19 or #token ~= 32 then return nil end
  return { epoch = epoch, horizon = horizon, expires = tonumber(expires), token = token, holder = holder }
end

local function put(worker, row)
  redis.call('HSET', key, worker,
    row.epoch .. ' ' .. row.horizon .. ' ' .. digits(row.expires) .. ' ' .. row.token .. ' ' .. row.holder)
end

-- A later version that needs to keep this one out sets this field.
local protocol = redis.call('HGET', key, 'protocol')

-- claimed returns the worker's row if it is the owner's. The next token is '' if no extension is under way.
local function claimed(worker, epoch, token, next_token)
  local text = redis.call('HGET', key, worker)
  local row = text and parse(text)
  if row and row.epoch == epoch and (row.token == token or row.token == next_token) then return row end
  return nil
end
