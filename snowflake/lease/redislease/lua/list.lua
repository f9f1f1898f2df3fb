return { 'listed', digits(now), redis.call('HGETALL', key) }
