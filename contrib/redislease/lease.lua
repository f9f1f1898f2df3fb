-- A row is text of fixed columns: epoch, horizon, expiry, token, and the holder to the end. Numbers have 19 digits and
-- are compared as text, since those of Lua are exact up to 2^53 only; digits of one width have one order in every
-- locale. Only the expiry, in milliseconds since 1970, becomes a number: it stays far below that.

local key = KEYS[1]

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

-- answer has the time in microseconds since 1970.
local function answer(word, value) return { word, string.format('%s%06d', time[1], time[2]), value or '' } end

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

local calls = {}

function calls.list()
  return answer('listed', redis.call('HGETALL', key))
end

function calls.take(known_layout, layout, worker, epoch, expires, next_epoch, token, ttl, holder)
  if protocol then return answer('protocol', protocol) end

  local row = { epoch = digits(0), horizon = digits(0), expires = 0 } -- of a worker that was never taken
  local text = redis.call('HGET', key, worker)
  if text then row = parse(text) end

  local unchanged = row and row.epoch == epoch and digits(row.expires) == expires
    and (redis.call('HGET', key, 'layout') or '') == known_layout
  if not unchanged or row.expires > now then return answer('changed') end

  row.epoch, row.token, row.expires, row.holder = next_epoch, token, now + ttl, holder
  redis.call('HSET', key, 'layout', layout)
  put(worker, row)
  return answer('taken', row.horizon)
end

function calls.extend(worker, epoch, token, next_token, horizon, ttl, guarded)
  local row = claimed(worker, epoch, token, next_token)
  if not row then return answer('lost') end
  if protocol then return answer('protocol', protocol) end
  -- With a guard Redis may have forgotten a takeover, and that came after the expiry.
  if guarded == '1' and row.expires <= now then return answer('lost') end
  if row.horizon < horizon then row.horizon = horizon end
  row.token, row.expires = next_token, now + ttl
  put(worker, row)
  return answer('extended')
end

function calls.release(worker, epoch, token, next_token, horizon)
  local row = claimed(worker, epoch, token, next_token)
  if not row then return answer('lost') end
  if row.horizon > horizon then row.horizon = horizon end
  if row.expires > now then row.expires = now end
  put(worker, row)
  return answer('released')
end

return calls[ARGV[1]](unpack(ARGV, 2))
