local worker, epoch, token, next_token, horizon, ttl, guarded = unpack(ARGV)

local row = claimed(worker, epoch, token, next_token)
if not row then return { 'lost' } end
if protocol then return { 'protocol', protocol } end
-- With a guard Redis may have forgotten a takeover, and that came after the expiry.
if guarded == '1' and row.expires <= now then return { 'lost' } end
if row.horizon < horizon then row.horizon = horizon end
row.token, row.expires = next_token, now + ttl
put(worker, row)
return { 'extended', time[1], time[2] }
