/*
 * The lease protocol of package lease as a model for the checker Spin (https://spinroot.com). The script check beside
 * this file runs it: every order of the steps below is tried, not a sample of them.
 *
 * One rule: an ID may be issued only if its tick lies below a horizon that the store committed beforehand under this
 * owner's epoch; only an owner that issues nothing more lowers the horizon, to a tick above all that it has issued, and not
 * below where it started; a takeover raises the epoch and starts at the horizon of the row.
 *
 * A second rule is for copies of an owner: each extension hands the row on to a new token, which is drawn when it is asked
 * for; one whose outcome is unknown is repeated as it was; an owner that knows its loss issues nothing more.
 *
 * A third rule is for a replica that is promoted without the last commits: the first request there sets a floor above all
 * horizons that the old primary can have committed. New owners start at the floor or above it. Old owners keep their worker only if nobody can have taken it over: their row had not
 * expired when the floor was set, which a comparison of two clocks can't tell without the skew, or a lease has not passed
 * since the call that has confirmed them last, when the new primary has answered them.
 *
 * A floor can only be above the horizons of owners that the replica has never heard of if it knows their reach. So a greater
 * reach counts for extensions once each replica that may be promoted has it.
 *
 * What is checked, by assertions:
 *   unique     no tick of the worker is issued twice. If an owner was copied, a tick may be issued more than once that lies
 *              below the horizon that this owner had, or had asked for, at that time, and not below what it had issued until
 *              then; but never by an owner that knows its loss.
 *   horizon    the horizon of the row is never at or below a tick that was issued, except for those ticks, nor below what it
 *              was at the last takeover
 *   committed  an issued tick lies below a horizon that was committed before under the issuer's epoch
 *
 * What may happen, at any time and in any order:
 *   - Owners acquire, extend, close, release, issue, crash and start again without any memory. Each step of each of them may
 *     be followed by a pause of any length, since any other steps may come between; so may the check of a tick and its issue.
 *     An owner goes on issuing while its extension is under way, and after a loss that it does not know yet, below its old
 *     limit. It closes at any moment, with a call of its own under way or a tick checked, and from then on issues nothing; it
 *     releases any number of times, with or without an answer.
 *   - With FAILOVER, once: a replica gets nothing more from some moment on, and is promoted later. The primary then
 *     commits nothing more, and a request that it got and that nobody waits for is lost. By the clock of the replica the
 *     lease in its row may end earlier than by that of the primary.
 *   - With WINDOWS the second owner may ask for a greater reach, or for the small one, at any time.
 *   - With COPIES, once: an owner, with all that it knows and with its request or the reply to it, is copied in the place of
 *     one that is not running. Both go on.
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
 *   - Acquire reads the floor after the takeover. A store that reads it before, and takes the worker only if the row of the
 *     namespace has the server and the floor that it has read, as sqllease does, has the floor of that moment: that is
 *     the case in which nothing comes between the two steps.
 *   - A new token is the least number that nothing refers to, which nobody can tell from one that was never used before; a
 *     random one of 128 bits is that in practice.
 *   - The floor is the highest horizon that the old primary has committed with a reach that the new one knows. A real one is
 *     above it if clocks agree as well as leases demand, which is not in the model. Nor is what keeps horizons within a reach
 *     when clocks are set back, and a floor above horizons that are beyond it: without clocks both are this very sentence. The
 *     simulator has them.
 *   - A lease lasts one step of the clock. An owner counts the steps since it has sent a call.
 *   - That every replica which may be promoted has the greater reach is a condition of a step. In practice it is an hour.
 *   - There is one failover. After it the new primary gives out no worker of a row until the floor, for the case that it
 *     is replaced itself. The simulator has that.
 *   - The store forgets nothing else that it has committed, and has the row of the namespace after a failover. If not,
 *     nothing here holds.
 *
 * The rules can be broken in twenty-one ways, by a macro each; every one of them ends in a tick that is issued twice, the
 * four that are about tokens and losses if an owner is copied, the last eight after a failover:
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
 *   EXTEND_KEEPS_TOKEN            an extension hands the row on to the token that it has
 *   TOKEN_DRAWN_IN_ADVANCE        the token of an extension is drawn when the one before is answered
 *   REPEAT_ASKS_FOR_MORE          an extension whose outcome is unknown is repeated with its token and a higher horizon
 *   LOST_GOES_ON                  an owner that knows its loss uses what is left below its limit
 *   NO_FLOOR                      after a failover new owners start at the horizon of the row
 *   FLOOR_AT_NOW                  the floor is above what was issued, not above what may be
 *   FLOOR_READ_BEFORE_TAKEOVER    Acquire reads the floor, then takes the worker
 *   SERVER_CHECKED_BEFORE         Acquire asks whether the server has changed, then takes the worker
 *   EXPIRED_GOES_ON               an owner that had expired before the failover keeps its worker
 *   CLOCKS_COMPARED               the same if the expiry is not reached by the new primary's clock, which is behind
 *   TIMED_FROM_THE_CALL           an owner that has not expired when it asks may have when it is answered
 *   GREATER_REACH_AT_ONCE         a greater reach counts as soon as the primary knows it
 *
 * UNIQUE_ONLY turns the other two assertions off, so that a counter-example is a tick issued twice. REACH asserts that what
 * makes the correct model worth checking does not happen; Spin must find that it does. With COPIES that is a tick issued
 * twice.
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
#ifndef LIVES
#define LIVES 3 /* so many processes, or lives of one, ask for it */
#endif
#ifndef LATE
#define LATE 1 /* whether a request may arrive late: 0 or 1 */
#endif
#ifndef COPIES
#define COPIES 0 /* whether an owner may be copied, once: 0 or 1 */
#endif
#ifndef FAILOVER
#define FAILOVER 0 /* whether the store may fail over to a replica, once: 0 or 1 */
#endif
#ifndef WINDOWS
#define WINDOWS 0 /* whether the second owner may have a greater reach: 0 or 1 */
#endif
#define TTL 1 /* steps of the store's clock */

mtype = { NOTHING, ACQUIRE, READ, EXTEND, ASSURED, RELEASE, GRANTED, EXTENDED, DOUBTED, REFUSED, LOST }

typedef Message {
	mtype kind = NOTHING;
	byte epoch, token, next_token, horizon
#if FAILOVER
	byte previous; /* the token before, for a store that has forgotten the last extension */
	byte server;   /* of an owner that is sure of its worker: the one that it has asked */
	bit great      /* reach */
#endif
}

/* The row of the worker. It is free if the expiry is reached. */
byte epoch, token, horizon;
byte expiry; /* how far it is from the store's clock; 0: reached */

#if FAILOVER
byte old_epoch, old_token, old_horizon, old_expiry; /* the row of the replica that gets nothing more */
bool cut;    /* there is one */
byte server; /* so many were promoted */
bool unmet;  /* and there was no request since */
bool barred; /* the owner of the row may have expired at that time */
byte floor;  /* new owners start there */
byte given;  /* the highest horizon that was committed; nobody knows it */
bit reach, old_reach, settled; /* the greater one is in the row of the namespace, of the replica, and counts */
byte given_small;              /* the highest horizon with the small reach */
#define failed (server > 0)
#else
#define floor 0
#define given 0
#define unmet 0
#define failed 1
#endif

Message call[OWNERS]; /* an owner's request to the store, then the reply */
Message late;         /* a request that nobody waits for any more, and that may arrive yet */

/* What the owners know. */
byte own_epoch[OWNERS];  /* of the last grant */
byte own_token[OWNERS];  /* of the request, the grant or the last extension */
byte next_token[OWNERS]; /* of an extension whose outcome is not known */
byte asked[OWNERS];      /* the horizon of that extension */
#if FAILOVER
byte previous[OWNERS];   /* the token before the last extension */
bool aged[OWNERS];       /* a lease has passed since the call began that has confirmed the claim last */
bool young[OWNERS];      /* none has passed since the last call began */
#endif
bool claimed[OWNERS];    /* has a grant that is not known to be lost */
bool closed[OWNERS];     /* issues nothing any more */
byte limit[OWNERS];      /* issues below it */
byte next[OWNERS];       /* last tick issued + 1 */
byte picked[OWNERS];     /* a tick that was checked and not issued yet, + 1 */
byte seen[OWNERS];       /* next at that time */

byte lives;        /* so many tokens were drawn for a request */
bool copied;       /* an owner was copied */
byte fresh;        /* the token that is being drawn */

/* What the assertions need, and nothing else reads. */
byte issued;            /* a bit for each tick */
byte stale;             /* a bit for each tick that was issued by an owner that knew its loss */
byte from, shared;      /* the ticks that a copy may issue, too: from the first one on, below the second */
byte start;             /* the horizon at the last takeover */
byte committed[OWNERS]; /* the highest horizon committed under the epoch that the owner has */
#ifdef REACH
byte issuers; /* a bit for each owner that has issued */
#endif

#define request(m) (m.kind == ACQUIRE || m.kind == READ || m.kind == EXTEND || m.kind == ASSURED || m.kind == RELEASE)

inline clear(m) {
	m.kind = NOTHING;
	m.epoch = 0;
	m.token = 0;
	m.next_token = 0;
#if FAILOVER
	m.previous = 0;
	m.server = 0;
	m.great = 0;
#endif
	m.horizon = 0
}

#if FAILOVER
#define was(o, t) (previous[o] == t || call[o].previous == t)
#define stored(t) (token == t || old_token == t || late.previous == t)
#else
#define was(o, t) false
#define stored(t) (token == t)
#endif
#define has(o, t) (own_token[o] == t || next_token[o] == t || call[o].token == t || call[o].next_token == t || was(o, t))
#if OWNERS > 2
#define known(t) (stored(t) || late.token == t || late.next_token == t || has(0, t) || has(1, t) || has(2, t))
#else
#define known(t) (stored(t) || late.token == t || late.next_token == t || has(0, t) || has(1, t))
#endif

inline draw(t) {
	fresh = 1;
	do
	:: known(fresh) -> fresh++
	:: else -> break
	od;
	t = fresh;
	fresh = 0
}

#define owned(m) (token == m.token || (m.next_token > 0 && token == m.next_token))

#if FAILOVER
/* The owner asks a second time, with the previous token. */
#define healed(m) (m.previous > 0 && token == m.previous)
#else
#define healed(m) false
#endif

#if FAILOVER && !defined(EXPIRED_GOES_ON)
#define doubtful(m) (barred && !(m.kind == ASSURED && m.server == server))
#else
#define doubtful(m) false
#endif

#if WINDOWS
#ifdef GREATER_REACH_AT_ONCE
#define too_far(m) (m.great && !reach)
#else
#define too_far(m) (m.great && !settled)
#endif
#else
#define too_far(m) false
#endif

#ifdef EXTEND_WITHOUT_OWNER_CHECK
#define extendable(m) true
#elif defined(EXTEND_CHECKS_TOKEN_ONLY)
#define extendable(m) owned(m)
#else
#define extendable(m) (epoch == m.epoch && (owned(m) || healed(m)))
#endif

#ifdef RELEASE_WITHOUT_OWNER_CHECK
#define releasable(m) true
#else
#define releasable(m) (epoch == m.epoch && owned(m))
#endif

inline note(o, m) {
	if
	:: own_epoch[o] == m.epoch && committed[o] < m.horizon -> committed[o] = m.horizon
	:: else
	fi
}

#define higher(a, b) (a < b -> b : a)

/* The first request after a failover */
inline meet(m) {
#if FAILOVER
	if
	:: unmet ->
		unmet = false;
#ifdef FLOOR_AT_NOW
		floor = ((issued >> 3) > 0 -> 4 : ((issued >> 2) > 0 -> 3 : ((issued >> 1) > 0 -> 2 : issued)));
#elif !defined(NO_FLOOR)
		floor = (reach -> given : given_small);
#endif
		printf("store: finds that it is another one, the floor is %d\n", floor)
	:: else
	fi;
	reach = (m.great -> 1 : reach)
#else
	skip
#endif
}

/* The store serves a request and leaves the reply in its place. */
inline serve(m) {
	if
#ifdef SERVER_CHECKED_BEFORE
	:: m.kind == READ
	:: m.kind != READ && m.kind != RELEASE -> meet(m)
#else
	:: m.kind != RELEASE -> meet(m)
#endif
	:: m.kind == RELEASE /* frees the worker whatever server this is */
	fi;
	if
#if defined(HORIZON_READ_BEFORE_TAKEOVER) || defined(FLOOR_READ_BEFORE_TAKEOVER) || defined(SERVER_CHECKED_BEFORE)
	:: m.kind == ACQUIRE ->
#ifdef HORIZON_READ_BEFORE_TAKEOVER
		m.horizon = horizon;
#else
		m.horizon = floor;
#endif
		m.kind = READ
	:: m.kind == READ ->
		if
		:: expiry == 0 && epoch < EPOCHS ->
#ifndef HORIZON_READ_BEFORE_TAKEOVER
			m.horizon = higher(horizon, m.horizon);
#endif
			epoch++;
			token = m.token;
			expiry = TTL;
			start = horizon;
#if FAILOVER
			barred = false;
#endif
			m.epoch = epoch;
			m.token = 0;
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
#if FAILOVER
			barred = false;
#endif
			m.epoch = epoch;
			m.kind = READ;
			printf("store: token %d takes the worker, epoch %d\n", token, epoch)
		:: else -> clear(m)
		fi
	:: m.kind == READ ->
		if
		:: epoch == m.epoch && token == m.token ->
			m.horizon = higher(horizon, floor);
			m.token = 0;
			m.kind = GRANTED;
			printf("store: grants epoch %d with the horizon %d\n", epoch, m.horizon)
		:: else -> clear(m)
		fi
#endif
	:: m.kind == EXTEND || m.kind == ASSURED ->
		if
		:: extendable(m) && doubtful(m) ->
			printf("store: may have forgotten that epoch %d was taken over\n", m.epoch);
			m.kind = DOUBTED;
#if FAILOVER
			m.server = server
#endif
		:: extendable(m) && !doubtful(m) && too_far(m) ->
			printf("store: refuses the greater reach\n");
			clear(m);
			m.kind = REFUSED
		:: extendable(m) && !doubtful(m) && !too_far(m) ->
			if
			:: horizon < m.horizon -> horizon = m.horizon
			:: else
			fi;
#if FAILOVER
			given = (server == FAILOVER -> given : higher(given, horizon));
			given_small = (server == FAILOVER || m.great -> given_small : higher(given_small, m.horizon));
			barred = false;
#endif
			note(0, m);
			note(1, m);
#if OWNERS > 2
			note(2, m);
#endif
			token = m.next_token;
			expiry = TTL;
			printf("store: commits the horizon %d for epoch %d, token %d; the row has the horizon %d\n", m.horizon, m.epoch, token, horizon);
			clear(m);
			m.kind = EXTENDED
		:: else ->
			printf("store: tells epoch %d, token %d, that it is lost\n", m.epoch, m.token);
			clear(m);
			m.kind = LOST
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
	assert(horizon >= start && (issued >> higher(higher(horizon, (unmet -> given : floor)), shared)) == 0)
#endif
}

#if FAILOVER
inline promote() {
	cut = false;
	server++;
	unmet = true;
	epoch = old_epoch;
	token = old_token;
	horizon = old_horizon;
	expiry = old_expiry;
	reach = old_reach;
	start = 0;
	old_epoch = 0;
	old_token = 0;
	old_horizon = 0;
	old_expiry = 0;
	old_reach = 0;
	clear(late);
	printf("store: the replica is promoted; the row has epoch %d and the horizon %d\n", epoch, horizon)
}
#endif

active proctype Store() {
end:	do
#if FAILOVER
	:: d_step { /* the replica and its row have the same clock */
		expiry > 0 || old_expiry > 0 ->
		expiry = (expiry > 0 -> expiry - 1 : 0);
		old_expiry = (old_expiry > 0 -> old_expiry - 1 : 0);
		aged[0] = true; young[0] = false;
		aged[1] = true; young[1] = false;
#if OWNERS > 2
		aged[2] = true; young[2] = false;
#endif
		printf("store: the clock moves on, %d to the expiry\n", expiry)
	   }
	:: d_step {
		!cut && server < FAILOVER ->
		cut = true;
		old_reach = reach;
		old_epoch = epoch;
		old_token = token;
		old_horizon = horizon;
		old_expiry = expiry;
		printf("store: the replica gets nothing more\n")
	   }
	:: d_step { cut -> barred = (old_expiry == 0); promote() }
	:: d_step { cut && old_expiry > 0 -> barred = true; old_expiry = 0; printf("store: the replica's clock is ahead\n"); promote() }
#ifdef CLOCKS_COMPARED
	:: d_step { cut && old_expiry == 0 -> barred = false; old_expiry = TTL; printf("store: the replica's clock is behind\n"); promote() }
#endif
#if WINDOWS
	:: d_step { reach && !settled && (!cut || old_reach) -> settled = 1; printf("store: all replicas know the greater reach\n") }
#endif
#else
	:: d_step { expiry > 0 -> expiry--; printf("store: the clock moves on, %d to the expiry\n", expiry) }
#endif
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
	late.next_token = m.next_token;
#if FAILOVER
	late.previous = m.previous;
	late.server = m.server;
	late.great = m.great;
#endif
	late.horizon = m.horizon;
	clear(m)
}

#define can_crash (own_token[me] > 0 || own_epoch[me] > 0 || call[me].kind != NOTHING)

inline forget() {
	own_epoch[me] = 0;
	committed[me] = 0;
	own_token[me] = 0;
	next_token[me] = 0;
	asked[me] = 0;
#if FAILOVER
	previous[me] = 0;
	aged[me] = false;
	young[me] = false;
#endif
	claimed[me] = false;
	closed[me] = false;
	limit[me] = 0;
	next[me] = 0;
	picked[me] = 0;
	seen[me] = 0;
#ifdef EXPIRY_BY_OWNERS_CLOCK
	own_expiry = 0;
#endif
	printf("owner %d: crashes and starts again\n", me)
}

#if COPIES
#define can_copy(o) (o < OWNERS && !copied && !can_crash && (own_token[o] > 0 || own_epoch[o] > 0))

inline copy(o) {
	call[me].kind = call[o].kind;
	call[me].epoch = call[o].epoch;
	call[me].token = call[o].token;
	call[me].next_token = call[o].next_token;
	call[me].horizon = call[o].horizon;
	own_epoch[me] = own_epoch[o];
	own_token[me] = own_token[o];
	next_token[me] = next_token[o];
	asked[me] = asked[o];
	claimed[me] = claimed[o];
	closed[me] = closed[o];
	limit[me] = limit[o];
	next[me] = next[o];
	picked[me] = picked[o];
	seen[me] = seen[o];
	committed[me] = committed[o];
	copied = true;
	from = next[o];
	shared = (limit[o] < asked[o] -> asked[o] : limit[o]);
	printf("owner %d: is a copy of owner %d, which has asked for the horizon %d\n", me, o, shared)
}
#endif

#define can_extend(h) (h <= TICKS && call[me].kind == NOTHING && claimed[me] && !closed[me] && limit[me] < h)

/* A new extension, which hands the row on to a new token */
#define can_ask(h) (can_extend(h) && asked[me] == 0)

inline ask(h, far) {
#ifdef EXTEND_KEEPS_TOKEN
	next_token[me] = own_token[me];
#else
	if
	:: next_token[me] == 0 -> draw(next_token[me])
	:: else
	fi;
#endif
	send_extend(h, far)
}

/* or the last one again */
#ifdef REPEAT_ASKS_FOR_MORE
#define can_repeat(h) (can_extend(h) && asked[me] > 0 && asked[me] <= h)
#else
#define can_repeat(h) (can_extend(h) && asked[me] == h)
#endif

inline send_extend(h, far) {
	asked[me] = h;
	call[me].epoch = own_epoch[me];
	call[me].token = own_token[me];
	call[me].next_token = next_token[me];
#if FAILOVER
	call[me].previous = previous[me];
	call[me].great = far;
	young[me] = true;
#endif
	call[me].horizon = h;
	call[me].kind = EXTEND;
#ifdef TIMED_FROM_THE_CALL
	call[me].kind = (aged[me] -> EXTEND : ASSURED);
	call[me].server = FAILOVER;
#endif
#ifdef HORIZON_AFTER_USE
	limit[me] = h;
#endif
	printf("owner %d: asks to extend epoch %d to the horizon %d, token %d\n", me, own_epoch[me], h, next_token[me])
}

#ifdef EXPIRY_BY_OWNERS_CLOCK
#define may_issue(tick) (own_expiry > 0)
#else
#define may_issue(tick) (tick < limit[me])
#endif

/* The tick is max(last + 1, the own clock), and the clock shows anything: so it is any tick from next on. */
#define can_check(tick) (tick < TICKS && picked[me] == 0 && own_epoch[me] > 0 && !closed[me] && next[me] <= tick && may_issue(tick))

inline check(tick) {
	picked[me] = tick + 1;
	seen[me] = next[me];
	printf("owner %d: may issue tick %d\n", me, tick)
}

#ifdef RELEASE_BEFORE_FREEZE
#define may_release true
#else
#define may_release closed[me]
#endif

#ifdef RELEASE_TO_LAST_ISSUED
#define unused (next[me] > 0 -> next[me] - 1 : 0)
#else
#define unused next[me]
#endif

/* The issue is a compare-and-swap, which fails if next has been moved since the check. */
#define issue (1 << (picked[me] - 1))
#define repeatable (from < picked[me] && picked[me] <= shared && claimed[me] && (stale & issue) == 0)

proctype Owner(byte me) {
#ifdef EXPIRY_BY_OWNERS_CLOCK
	byte own_expiry; /* how far it is by the own clock */
#endif

end:	do
	:: d_step { /* Acquire: again with the same token if the outcome of the last call is unknown */
		call[me].kind == NOTHING && !claimed[me] && !closed[me] && (own_token[me] > 0 || lives < LIVES) ->
		if
		:: own_token[me] == 0 ->
			lives++;
			draw(own_token[me]);
#if FAILOVER
			young[me] = true
#endif
		:: else
		fi;
		call[me].token = own_token[me];
		call[me].kind = ACQUIRE;
		printf("owner %d: asks for the worker, token %d\n", me, own_token[me])
	   }

	:: d_step {
		call[me].kind == GRANTED ->
		claimed[me] = true;
		own_epoch[me] = call[me].epoch;
#if FAILOVER
		previous[me] = 0;
		aged[me] = !young[me];
#endif
		committed[me] = 0;
#ifdef TAKEOVER_STARTS_AT_NOW
		limit[me] = 0;
#else
		limit[me] = call[me].horizon; /* nothing may be issued yet */
		if
		:: next[me] < limit[me] -> next[me] = limit[me]
		:: else
		fi;
#endif
		printf("owner %d: has epoch %d and the horizon %d\n", me, own_epoch[me], call[me].horizon);
		clear(call[me])
	   }

	/* Extend, to any horizon above the limit */
	:: d_step { can_ask(1) -> ask(1, 0) }
	:: d_step { can_ask(2) -> ask(2, 0) }
	:: d_step { can_ask(3) -> ask(3, 0) }
	:: d_step { can_ask(4) -> ask(4, 0) }
	:: d_step { can_repeat(1) -> send_extend(1, 0) }
	:: d_step { can_repeat(2) -> send_extend(2, 0) }
	:: d_step { can_repeat(3) -> send_extend(3, 0) }
	:: d_step { can_repeat(4) -> send_extend(4, 0) }
#if WINDOWS
	:: d_step { me == 1 && can_ask(1) -> ask(1, 1) }
	:: d_step { me == 1 && can_ask(2) -> ask(2, 1) }
	:: d_step { me == 1 && can_repeat(1) -> send_extend(1, 1) }
	:: d_step { me == 1 && can_repeat(2) -> send_extend(2, 1) }
#endif

	:: d_step {
		call[me].kind == EXTENDED ->
		clear(call[me]);
		limit[me] = (closed[me] -> 0 : asked[me]);
#if FAILOVER
		previous[me] = own_token[me];
		aged[me] = !young[me];
#endif
		own_token[me] = next_token[me];
		next_token[me] = 0;
		asked[me] = 0;
#ifdef TOKEN_DRAWN_IN_ADVANCE
		draw(next_token[me]);
#endif
#ifdef EXPIRY_BY_OWNERS_CLOCK
		own_expiry = TTL;
#endif
		printf("owner %d: issues below %d from now on\n", me, limit[me])
	   }

#if FAILOVER
	:: d_step { /* within the same call */
		call[me].kind == DOUBTED ->
		if
		:: aged[me] -> clear(call[me]); call[me].kind = LOST
		:: else -> call[me].kind = ASSURED; printf("owner %d: is sure that nobody has taken it over\n", me)
		fi
	   }
	:: d_step { call[me].kind == REFUSED -> clear(call[me]); asked[me] = 0 }
#endif

	:: d_step { /* the compare-and-swap of a tick that was checked fails from now on */
		call[me].kind == LOST ->
		clear(call[me]);
		claimed[me] = false;
		own_token[me] = 0;
		next_token[me] = 0;
		asked[me] = 0;
#if FAILOVER
		previous[me] = 0;
#endif
		printf("owner %d: knows that it has lost epoch %d\n", me, own_epoch[me]);
#ifndef LOST_GOES_ON
		own_epoch[me] = 0;
		committed[me] = 0;
		limit[me] = 0;
		picked[me] = 0;
		seen[me] = 0
#endif
	   }

#ifndef RELEASE_BEFORE_FREEZE
	:: d_step { /* Close: the compare-and-swap of a tick that was checked fails from now on */
		claimed[me] && !closed[me] ->
		closed[me] = true;
		limit[me] = 0;
		picked[me] = 0;
		seen[me] = 0;
		committed[me] = 0;
		asked[me] = 0;
		printf("owner %d: closes, having issued what it has below %d\n", me, next[me])
	   }
#endif

	:: d_step { /* Release: next is above all that was issued, and not below the horizon of the grant */
		call[me].kind == NOTHING && claimed[me] && may_release ->
		call[me].epoch = own_epoch[me];
		call[me].token = own_token[me];
		call[me].next_token = next_token[me];
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

	:: d_step {
		picked[me] > 0 ->
		if
		:: seen[me] == next[me] ->
			printf("owner %d: issues tick %d under epoch %d\n", me, picked[me] - 1, own_epoch[me]);
			assert((issued & issue) == 0 || repeatable); /* unique */
#ifdef REACH
#if COPIES
			assert((issued & issue) == 0); /* reached */
#else
			issuers = issuers | (1 << me);
			assert(!(issuers == (1 << OWNERS) - 1 && (issued | issue) == (1 << TICKS) - 1 && epoch == EPOCHS && failed)); /* reached */
#endif
#endif
#ifdef LOST_GOES_ON
			stale = (claimed[me] -> stale : stale | issue);
#endif
			issued = issued | issue;
#ifndef UNIQUE_ONLY
			assert(picked[me] - 1 < committed[me]);
#endif
			next[me] = picked[me]
		:: else
		fi;
		picked[me] = 0;
		seen[me] = 0
	   }

#ifdef EXPIRY_BY_OWNERS_CLOCK
	:: d_step { own_expiry > 0 -> own_expiry--; printf("owner %d: its clock moves on, %d to the expiry\n", me, own_expiry) }
#endif

	/* a crash and a restart; what was sent is lost, or late */
	:: d_step { can_crash -> clear(call[me]); forget() }
	:: d_step { can_crash && can_let_go -> let_go(call[me]); forget() }

#if COPIES
	:: d_step { me != 0 && can_copy(0) -> copy(0) }
	:: d_step { me != 1 && can_copy(1) -> copy(1) }
#endif
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
