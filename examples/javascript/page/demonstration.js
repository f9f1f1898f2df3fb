// demonstrate fetches the users in each form from the API at base, and opens the link of each one. It runs in a browser
// and in node 18 or newer.
export async function demonstrate(base) {
	const rows = []
	for (const kind of ['numbers', 'strings', 'safe']) {
		const text = await (await fetch(`${base}/users/${kind}`)).text()
		const sent = text.match(/(?<="id":"?)\d+/g) // the digits in the answer
		for (const [i, user] of JSON.parse(text).entries()) {
			const opens = await (await fetch(`${base}/users/${kind}/${user.id}`)).text()
			rows.push([kind, user.name, sent[i], String(user.id), opens])
		}
	}
	return rows
}
