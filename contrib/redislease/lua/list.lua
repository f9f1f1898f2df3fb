return { 'listed', time[1], time[2], redis.call('HGETALL', key) }
