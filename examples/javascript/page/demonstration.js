// The demonstration. It runs in a browser and in node 18 or newer, and only reads.

// demonstrate returns what becomes of the IDs in the answers of the API at base, such as "http://127.0.0.1:8080".
export async function demonstrate(base) {
	const links = []
	for (const kind of ['numbers', 'strings', 'safe']) {
		links.push(...await follow(base, kind))
	}
	return { engine: engine(), links, counts: await counts(base) }
}

// follow fetches the users and opens the link of each one.
async function follow(base, kind) {
	const text = await (await fetch(`${base}/api/${kind}/users`)).text()
	const sent = text.match(/(?<="id":"?)\d+/g) // the digits in the answer
	const links = []
	for (const [i, user] of JSON.parse(text).entries()) {
		const answer = await fetch(`${base}/api/${kind}/users/${user.id}`)
		const { name } = await answer.json()
		links.push({ kind, user: user.name, sent: sent[i], read: String(user.id), opens: name ?? String(answer.status) })
	}
	return links
}

// counts counts the numbers that the IDs of a millisecond become, and tells since when IDs are above 2^53.
async function counts(base) {
	const milliseconds = await (await fetch(`${base}/api/milliseconds`)).json()
	return milliseconds.map(({ layout, epoch, end, below_time, ids }) => {
		const since = Date.parse(epoch) + 2 ** (53 - below_time)
		return {
			layout,
			ids: ids.length,
			numbers: new Set(ids).size,
			since: since < Date.parse(end) ? new Date(since).toISOString() : 'never',
		}
	})
}

function engine() {
	if (typeof process === 'object') {
		return `node ${process.version}`
	}
	const brand = navigator.userAgent.match(/(?:Firefox|Edg|Chrome|Version)\/[\d.]+/)
	return brand ? brand[0].replace('/', ' ').replace('Version', 'Safari') : 'this browser'
}
