/*
 * The lease protocol of package lease as a model for the checker Spin (https://spinroot.com). The script check beside
 * this file runs it: every order of the steps below is tried, not a sample of them.
 *
 * One rule: an ID may be issued only if its tick lies below a horizon that the store committed beforehand under this
 * owner's epoch; only an owner that issues nothing more lowers the horizon, to a tick above all that it has issued, and not
 * below where it started; a takeover raises the epoch and starts at the horizon of the row.
 *
 * What is checked, by assertions:
 *   unique     no tick of the worker is issued twice
 *   horizon    the horizon of the row is never at or below a tick that was issued, nor below what it was at the last takeover
 *   committed  an issued tick lies below a horizon that was committed before under the issuer's epoch
 *
 * What may happen, at any time and in any order:
 *   - Owners acquire, extend, close, release, issue, crash and start again without any memory. Each step of each of them may
 *     be followed by a pause of any length, since any other steps may come between; so may the check of a tick and its issue.
 *     An owner goes on issuing while its extension is under way, and after a loss, below its old limit. It closes at any
 *     moment, with a call of its own under way or a tick checked, and from then on issues nothing; it releases any number of
 *     times, with or without an answer.
 *   - A request or its reply is lost: the owner gives up waiting. The request may still reach the store later, after
 *     younger ones of the same owner, and after the owner is dead.
 *   - The store's clock reaches the expiry. Only the difference of the two matters, so that is what the row keeps. The clock
 *     may take its step at any moment, so a worker may expire under a live owner at any moment.
 *   - An owner's clock shows anything: each reading of it is any number, whatever the reading before was.
 *
 * What stands for what:
 *   - One worker; several are several independent rows. One ID a tick: a tick belongs to one owner as a whole, and within
 *     it the owner counts the sequence.
 *   - A statement or a script of the store is one step. Acquire is two, the takeover and the reading of the horizon, since
 *     a store may make it of two statements.
 *   - A token is a number never used before; a random one of 128 bits is that in practice.
 *   - The store forgets nothing that it has committed. If it does, nothing here holds.
 *
 * The rule can be broken in nine ways, by a macro each; every one of them ends in a tick that is issued twice:
 *   EXTEND_WITHOUT_OWNER_CHECK    the store takes an extension from anybody
 *   EXTEND_CHECKS_TOKEN_ONLY      the store does not look at the epoch: a late request for the worker took it once more
 *   HORIZON_AFTER_USE             the owner raises its limit when it asks, not when the store has answered
 *   EXPIRY_BY_OWNERS_CLOCK        the right to issue is the owner's clock against the expiry, not the horizon. Broken clocks
 *                                 alone break nothing: in the correct model, too, an owner does not know that it has expired,
 *                                 and expiry may come at any moment. With the horizon in force they cost availability only.
 *   RELEASE_BEFORE_FREEZE         the owner gives back what it has not issued, and closes after that
 *   RELEASE_TO_LAST_ISSUED        it gives back from the last tick issued on, not from the one after it
 *   RELEASE_WITHOUT_OWNER_CHECK   the store takes a release from anybody
 *   TAKEOVER_STARTS_AT_NOW        a new owner starts at its clock, not at the old horizon
 *   HORIZON_READ_BEFORE_TAKEOVER  Acquire reads the horizon, then takes the worker
 *
 * UNIQUE_ONLY turns the other two assertions off, so that a counter-example is a tick issued twice. REACH asserts that what
 * makes the correct model worth checking does not happen; Spin must find that it does.
 */

#ifndef OWNERS
#define OWNERS 2 /* processes that want the worker: 2 or 3 */
#endif
#ifndef TICKS
#define TICKS 4 /* ticks 0 to TICKS-1; a horizon is at most TICKS; 1 to 4 */
#endif
#ifndef EPOCHS
#define EPOCHS 3 /* the worker is taken so many times */
#endif
#ifndef TOKENS
#define TOKENS 3 /* so many processes, or lives of one, ask for it */
#endif
#ifndef LATE
#define LATE 1 /* whether a request may arrive late: 0 or 1 */
#endif
#define TTL 1 /* steps of the store's clock */

mtype = { NOTHING, ACQUIRE, READ, EXTEND, RELEASE, GRANTED, EXTENDED, LOST }

typedef Message {
	mtype kind = NOTHING;
	byte epoch, token, horizon
}

/* The row of the worker. It is free if the expiry is reached. */
byte epoch, token, horizon;
byte expiry; /* how far it is from the store's clock; 0: reached */

Message call[OWNERS]; /* an owner's request to the store, then the reply */
Message late;         /* a request that nobody waits for any more, and that may arrive yet */

byte own_epoch[OWNERS]; /* of the last grant that an owner got */
byte tokens;            /* used so far */

/* What the assertions need, and nothing else reads. */
byte issued;            /* a bit for each tick */
byte start;             /* the horizon at the last takeover */
byte committed[OWNERS]; /* the highest horizon committed under the epoch that the owner has */
#ifdef REACH
byte issuers; /* a bit for each owner that has issued */
#endif

#define request(m) (m.kind == ACQUIRE || m.kind == READ || m.kind == EXTEND || m.kind == RELEASE)

inline clear(m) {
	m.kind = NOTHING;
	m.epoch = 0;
	m.token = 0;
	m.horizon = 0
}

#ifdef EXTEND_WITHOUT_OWNER_CHECK
#define extendable(m) true
#elif defined(EXTEND_CHECKS_TOKEN_ONLY)
#define extendable(m) (token == m.token)
#else
#define extendable(m) (epoch == m.epoch && token == m.token)
#endif

#ifdef RELEASE_WITHOUT_OWNER_CHECK
#define releasable(m) true
#else
#define releasable(m) (epoch == m.epoch && token == m.token)
#endif

inline note(o, m) {
	if
	:: own_epoch[o] == m.epoch && committed[o] < m.horizon -> committed[o] = m.horizon
	:: else
	fi
}

/* The store serves a request and leaves the reply in its place. */
inline serve(m) {
	if
#ifdef HORIZON_READ_BEFORE_TAKEOVER
	:: m.kind == ACQUIRE ->
		m.horizon = horizon;
		m.kind = READ
	:: m.kind == READ ->
		if
		:: expiry == 0 && epoch < EPOCHS ->
			epoch++;
			token = m.token;
			expiry = TTL;
			start = horizon;
			m.epoch = epoch;
			m.kind = GRANTED;
			printf("store: token %d takes the worker, epoch %d\n", token, epoch)
		:: else -> clear(m)
		fi
#else
	:: m.kind == ACQUIRE ->
		if
		:: expiry > 0 && token == m.token -> /* the reply to an earlier call was lost */
			m.epoch = epoch;
			m.kind = READ
		:: expiry == 0 && epoch < EPOCHS ->
			epoch++;
			token = m.token;
			expiry = TTL;
			start = horizon;
			m.epoch = epoch;
			m.kind = READ;
			printf("store: token %d takes the worker, epoch %d\n", token, epoch)
		:: else -> clear(m)
		fi
	:: m.kind == READ ->
		if
		:: epoch == m.epoch && token == m.token ->
			m.horizon = horizon;
			m.kind = GRANTED;
			printf("store: grants epoch %d with the horizon %d\n", epoch, horizon)
		:: else -> clear(m)
		fi
#endif
	:: m.kind == EXTEND ->
		if
		:: extendable(m) ->
			if
			:: horizon < m.horizon -> horizon = m.horizon
			:: else
			fi;
			note(0, m);
			note(1, m);
#if OWNERS > 2
			note(2, m);
#endif
			expiry = TTL;
			m.kind = EXTENDED;
			printf("store: commits the horizon %d for epoch %d; the row has the horizon %d\n", m.horizon, m.epoch, horizon)
		:: else ->
			m.kind = LOST;
			printf("store: tells epoch %d that it is lost\n", m.epoch)
		fi
	:: m.kind == RELEASE ->
		if
		:: releasable(m) ->
			expiry = 0;
			if
			:: horizon > m.horizon -> horizon = m.horizon
			:: else
			fi;
			printf("store: epoch %d releases the worker; the row has the horizon %d\n", m.epoch, horizon)
		:: else
		fi;
		clear(m)
	fi;
#ifndef UNIQUE_ONLY
	assert(horizon >= start && (issued >> horizon) == 0)
#endif
}

active proctype Store() {
end:	do
	:: d_step { expiry > 0 -> expiry--; printf("store: the clock moves on, %d to the expiry\n", expiry) }
	:: d_step { request(call[0]) -> serve(call[0]) }
	:: d_step { request(call[1]) -> serve(call[1]) }
#if OWNERS > 2
	:: d_step { request(call[2]) -> serve(call[2]) }
#endif
	:: d_step { late.kind != NOTHING -> printf("store: a late request arrives\n"); serve(late); clear(late) }
	od
}

/* A request that nobody waits for any more may still be on its way. */
#define can_let_go (LATE && request(call[me]) && late.kind == NOTHING)

inline let_go(m) {
	late.kind = m.kind;
	late.epoch = m.epoch;
	late.token = m.token;
	late.horizon = m.horizon;
	clear(m)
}

#define can_crash (own_token > 0 || own_epoch[me] > 0 || call[me].kind != NOTHING)

inline forget() {
	own_epoch[me] = 0;
	committed[me] = 0;
	own_token = 0;
	claimed = false;
	closed = false;
	limit = 0;
	next = 0;
	picked = 0;
	seen = 0;
#ifdef EXPIRY_BY_OWNERS_CLOCK
	own_expiry = 0;
#endif
	printf("owner %d: crashes and starts again\n", me)
}

#define can_extend(h) (h <= TICKS && call[me].kind == NOTHING && claimed && !closed && limit < h)

inline send_extend(h) {
	call[me].epoch = own_epoch[me];
	call[me].token = own_token;
	call[me].horizon = h;
	call[me].kind = EXTEND;
#ifdef HORIZON_AFTER_USE
	limit = h;
#endif
	printf("owner %d: asks to extend epoch %d to the horizon %d\n", me, own_epoch[me], h)
}

#ifdef EXPIRY_BY_OWNERS_CLOCK
#define may_issue(tick) (own_expiry > 0)
#else
#define may_issue(tick) (tick < limit)
#endif

/* The tick is max(last + 1, the own clock), and the clock shows anything: so it is any tick from next on. */
#define can_check(tick) (tick < TICKS && picked == 0 && own_epoch[me] > 0 && !closed && next <= tick && may_issue(tick))

inline check(tick) {
	picked = tick + 1;
	seen = next;
	printf("owner %d: may issue tick %d\n", me, tick)
}

#ifdef RELEASE_BEFORE_FREEZE
#define may_release true
#else
#define may_release closed
#endif

#ifdef RELEASE_TO_LAST_ISSUED
#define unused (next > 0 -> next - 1 : 0)
#else
#define unused next
#endif

proctype Owner(byte me) {
	byte own_token; /* of the request or the grant */
	bool claimed;   /* has a grant that is not known to be lost */
	bool closed;    /* issues nothing any more */
	byte limit;     /* issues below it */
	byte next;      /* last tick issued + 1 */
	byte picked;    /* a tick that was checked and not issued yet, + 1 */
	byte seen;      /* next at that time */
#ifdef EXPIRY_BY_OWNERS_CLOCK
	byte own_expiry; /* how far it is by the own clock */
#endif

end:	do
	:: d_step { /* Acquire: again with the same token if the outcome of the last call is unknown */
		call[me].kind == NOTHING && !claimed && !closed && (own_token > 0 || tokens < TOKENS) ->
		if
		:: own_token == 0 -> tokens++; own_token = tokens
		:: else
		fi;
		call[me].token = own_token;
		call[me].kind = ACQUIRE;
		printf("owner %d: asks for the worker, token %d\n", me, own_token)
	   }

	:: d_step {
		call[me].kind == GRANTED ->
		claimed = true;
		own_epoch[me] = call[me].epoch;
		committed[me] = 0;
#ifdef TAKEOVER_STARTS_AT_NOW
		limit = 0;
#else
		limit = call[me].horizon; /* nothing may be issued yet */
		if
		:: next < limit -> next = limit
		:: else
		fi;
#endif
		printf("owner %d: has epoch %d and the horizon %d\n", me, own_epoch[me], call[me].horizon);
		clear(call[me])
	   }

	/* Extend, to any horizon above the limit */
	:: d_step { can_extend(1) -> send_extend(1) }
	:: d_step { can_extend(2) -> send_extend(2) }
	:: d_step { can_extend(3) -> send_extend(3) }
	:: d_step { can_extend(4) -> send_extend(4) }

	:: d_step {
		call[me].kind == EXTENDED ->
		limit = (closed -> 0 : call[me].horizon);
#ifdef EXPIRY_BY_OWNERS_CLOCK
		own_expiry = TTL;
#endif
		printf("owner %d: issues below %d from now on\n", me, limit);
		clear(call[me])
	   }

	:: d_step { /* the limit stays: what was committed is still its own */
		call[me].kind == LOST ->
		claimed = false;
		own_token = 0;
		clear(call[me]);
		printf("owner %d: knows that it has lost epoch %d\n", me, own_epoch[me])
	   }

#ifndef RELEASE_BEFORE_FREEZE
	:: d_step { /* Close: the compare-and-swap of a tick that was checked fails from now on */
		claimed && !closed ->
		closed = true;
		limit = 0;
		picked = 0;
		seen = 0;
		committed[me] = 0;
		printf("owner %d: closes, having issued what it has below %d\n", me, next)
	   }
#endif

	:: d_step { /* Release: next is above all that was issued, and not below the horizon of the grant */
		call[me].kind == NOTHING && claimed && may_release ->
		call[me].epoch = own_epoch[me];
		call[me].token = own_token;
		call[me].horizon = unused;
		call[me].kind = RELEASE;
		printf("owner %d: releases epoch %d down to the horizon %d\n", me, own_epoch[me], unused)
	   }

	/* the reply is lost, or the request, or the request is late */
	:: d_step { call[me].kind != NOTHING -> clear(call[me]); printf("owner %d: waits no longer\n", me) }
	:: d_step { can_let_go -> let_go(call[me]); printf("owner %d: waits no longer for a late request\n", me) }

	:: d_step { can_check(0) -> check(0) }
	:: d_step { can_check(1) -> check(1) }
	:: d_step { can_check(2) -> check(2) }
	:: d_step { can_check(3) -> check(3) }

	:: d_step { /* the issue: a compare-and-swap, which fails if next has been moved since the check */
		picked > 0 ->
		if
		:: seen == next ->
			printf("owner %d: issues tick %d under epoch %d\n", me, picked - 1, own_epoch[me]);
			assert((issued & (1 << (picked - 1))) == 0); /* unique */
			issued = issued | (1 << (picked - 1));
#ifndef UNIQUE_ONLY
			assert(picked - 1 < committed[me]);
#endif
			next = picked;
#ifdef REACH
			issuers = issuers | (1 << me);
			assert(!(issuers == (1 << OWNERS) - 1 && issued == (1 << TICKS) - 1 && epoch == EPOCHS))
#endif
		:: else
		fi;
		picked = 0;
		seen = 0
	   }

#ifdef EXPIRY_BY_OWNERS_CLOCK
	:: d_step { own_expiry > 0 -> own_expiry--; printf("owner %d: its clock moves on, %d to the expiry\n", me, own_expiry) }
#endif

	/* a crash and a restart; what was sent is lost, or late */
	:: d_step { can_crash -> clear(call[me]); forget() }
	:: d_step { can_crash && can_let_go -> let_go(call[me]); forget() }
	od
}

init {
	atomic {
		run Owner(0);
		run Owner(1);
#if OWNERS > 2
		run Owner(2);
#endif
	}
}
