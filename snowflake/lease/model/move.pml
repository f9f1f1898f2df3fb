/*
 * The move of a namespace to another layout, for Spin; check runs it beside lease.pml, whose rules hold here, too. It leaves
 * out what that one has: tokens (an owner is known by its number), copies, releases, a greater reach, and crashes, which are
 * owners that do nothing more.
 *
 * Ticks of the old layout are below those of the new one if their numbers are: real layouts are compared by Layout.Follows.
 * Checked is that no tick of a worker is issued twice, and that each of the old layout is below all of the new one, whichever
 * was issued first.
 *
 * The move: announce it; once each replica that may be promoted knows that, change the layout of the namespace; from then on
 * statements refuse the old layout; fence the rows that have expired, and once all are, set the start, above their
 * horizons and the floor. Processes of the new layout do each step at any time, again and at once. Two
 * have read a start that they have not written yet.
 *
 * A statement is two steps, as on PostgreSQL: it reads the row of the namespace, then changes the row of the worker, if
 * that has the epoch and the owner then. A failover ends it. A server gives no worker of a row to another owner until a lease
 * has passed since it took over, and none at all before the time of a start that it has set.
 *
 * Macros: OWNERS (2 or 3), of which the first OLD have the old layout; ROWS (workers, 1 or 2), TICKS (at most 3), LIVES (workers
 * are taken so often), FAILOVERS (at most so many). Each of ten others breaks a rule:
 *   MOVE_UNANNOUNCED           the layout changes before all replicas know that it will
 *   OLD_LAYOUT_AFTER_FAILOVER  workers are lent to the old layout by a server that took over after the announcement
 *   FENCE_THE_HELD             rows are fenced that have not expired, so a server that has forgotten that may confirm their owners
 *   FENCE_KEEPS_EPOCH          a statement that began before the move extends a row after the fence
 *   LENT_BEFORE_FLOOR          the new layout does not wait for the time of the start, which is above the floor: the next
 *                              server may confirm owners that this one has not heard of
 *   START_BEFORE_FENCE         the horizons are read before all rows are fenced
 *   START_OF_ANOTHER_SERVER    or on the server before
 *   START_NOT_KEPT             rows that are taken or added start at 0
 *   ACQUIRE_IGNORES_LAYOUT     workers are lent to the old layout after the move
 *   EXTEND_IGNORES_LAYOUT      a row is extended that has another layout than the namespace
 * That the floor is put through Layout.Follows, too, only the simulator sees.
 */
#define TTL 1
#define NONE 255

mtype = { TAKE, EXTEND }

typedef Row { bit there, moved, fenced, barred; byte epoch, owner, horizon, expiry }
typedef Namespace { bit announced, moved, changed; byte start } /* changed: the server, since the announcement; start + 1 */

Row row[ROWS], old[ROWS]; /* of the server, and of the replica that gets nothing more */
Namespace ns, oldns;
bit everywhere; /* each replica that may be promoted has the announcement */
bit cut, unmet, early;
bit waits;      /* for the start, which is above the floor */
byte failovers, floor, given, lives;
byte start[2]; /* that two processes have read, + 1 */

mtype kind[OWNERS];  /* of the statement under way */
bit view[OWNERS];    /* whether the namespace was moved when it began */
byte at[OWNERS], seen[OWNERS], to[OWNERS]; /* its row, epoch, and horizon or start */
byte mine[OWNERS], epoch[OWNERS], limit[OWNERS], next[OWNERS];
bit aged[OWNERS], young[OWNERS];

byte issued[ROWS]; /* a bit for each tick */
byte above;        /* all of the old layout */
byte least = TICKS; /* of the new one */
bit again;         /* the new layout has issued, and the server changed */

#define new(o) (o >= OLD)
#define higher(a, b) (a < b -> b : a)
#define done(r) (!row[r].there || row[r].moved || row[r].fenced)
#define old_horizon(r) (row[r].there && !row[r].moved -> row[r].horizon : 0)
#if ROWS > 1
#define all_done (done(0) && done(1))
#define greatest higher(old_horizon(0), old_horizon(1))
#define any_expiry (row[0].expiry || old[0].expiry || row[1].expiry || old[1].expiry)
#else
#define all_done done(0)
#define greatest old_horizon(0)
#define any_expiry (row[0].expiry || old[0].expiry)
#endif

#ifdef LENT_BEFORE_FLOOR
#define reached true
#else
#define reached !waits
#endif
#ifdef ACQUIRE_IGNORES_LAYOUT
#define may_take(o) (new(o) -> ns.start && reached : 1)
#elif defined(OLD_LAYOUT_AFTER_FAILOVER)
#define may_take(o) (new(o) -> ns.start && reached : !ns.moved)
#else
#define may_take(o) (new(o) -> ns.start && reached : !ns.moved && !ns.changed)
#endif
#ifdef START_NOT_KEPT
#define begins(o) floor
#else
#define begins(o) (new(o) -> higher(ns.start - 1, floor) : floor)
#endif
#ifdef EXTEND_IGNORES_LAYOUT
#define in_force true
#else
#define in_force (row[at[me]].moved == view[me])
#endif
#ifdef MOVE_UNANNOUNCED
#define may_move ns.announced
#else
#define may_move (ns.announced && everywhere)
#endif
#ifdef FENCE_THE_HELD
#define may_fence(r) true
#else
#define may_fence(r) (row[r].expiry == 0)
#endif
#ifdef START_BEFORE_FENCE
#define may_read true
#else
#define may_read all_done
#endif

inline copy(a, b) {
	b.there = a.there; b.moved = a.moved; b.fenced = a.fenced; b.epoch = a.epoch; b.owner = a.owner; b.horizon = a.horizon;
	b.expiry = a.expiry
}

inline forget(a) { a.there = 0; a.moved = 0; a.fenced = 0; a.epoch = 0; a.owner = 0; a.horizon = 0; a.expiry = 0 }
inline copy_namespace(a, b) { b.announced = a.announced; b.moved = a.moved; b.changed = a.changed; b.start = a.start }
inline restore(a, b, ahead) {
	copy(b, a);
	a.expiry = (ahead -> 0 : a.expiry);
	a.barred = (a.there && a.expiry == 0);
	forget(b)
}

/* The owners' statements end with the server. */
inline end_statement(o) { kind[o] = 0; view[o] = 0; at[o] = 0; seen[o] = 0; to[o] = 0 }
inline lose(o) { mine[o] = 0; epoch[o] = 0; limit[o] = 0; next[o] = 0; aged[o] = 0; young[o] = 0 }

inline pass(o) { aged[o] = (epoch[o] > 0); young[o] = 0 }

/* By the replica's clock the leases may end earlier. */
inline promote(ahead) {
	cut = 0; unmet = 1; early = 0; waits = 0; failovers++;
	again = (least < TICKS);
	restore(row[0], old[0], ahead);
#if ROWS > 1
	restore(row[1], old[1], ahead);
#endif
	copy_namespace(oldns, ns);
	oldns.announced = 0; oldns.moved = 0; oldns.changed = 0; oldns.start = 0;
	end_statement(0); end_statement(1);
#if OWNERS > 2
	end_statement(2);
#endif
#ifndef START_OF_ANOTHER_SERVER
	start[0] = 0; start[1] = 0;
#endif
	printf("store: a replica is promoted; the namespace is moved: %d\n", ns.moved)
}

inline fence(r) {
	row[r].fenced = 1;
#ifndef FENCE_KEEPS_EPOCH
	row[r].epoch++; row[r].owner = NONE; /* a random token is not that of a claim to the next epoch either */
#endif
	printf("store: fences row %d, its horizon is %d\n", r, row[r].horizon)
}

#define can_fence(r) (!unmet && ns.moved && !done(r) && may_fence(r))

active proctype Store() {
end:	do
	:: d_step { any_expiry || early ->
		row[0].expiry = 0; old[0].expiry = 0;
#if ROWS > 1
		row[1].expiry = 0; old[1].expiry = 0;
#endif
		pass(0); pass(1);
#if OWNERS > 2
		pass(2);
#endif
		early = 0; waits = 0; printf("store: a lease passes\n") }
	:: d_step { !cut && failovers < FAILOVERS && !unmet ->
		cut = 1; copy_namespace(ns, oldns); copy(row[0], old[0]);
#if ROWS > 1
		copy(row[1], old[1]);
#endif
		printf("store: the replica gets nothing more\n") }
	:: d_step { cut -> promote(0) }
	:: d_step { cut && any_expiry -> promote(1) }
	:: d_step { unmet -> unmet = 0; early = 1; floor = given; ns.changed = ns.announced; printf("store: finds that it is another one, the floor is %d\n", floor) }
	:: d_step { !unmet && !ns.announced -> ns.announced = 1; printf("store: the move is announced\n") }
	:: d_step { ns.announced && !everywhere && (!cut || oldns.announced) -> everywhere = 1; printf("store: all replicas have the announcement\n") }
	:: d_step { !unmet && may_move && !ns.moved -> ns.moved = 1; printf("store: the namespace moves\n") }
	:: d_step { can_fence(0) -> fence(0) }
#if ROWS > 1
	:: d_step { can_fence(1) -> fence(1) }
#endif
	:: d_step { !unmet && ns.moved && !ns.start && !start[0] && may_read -> start[0] = higher(greatest, floor) + 1; printf("store: the start is read as %d\n", start[0] - 1) }
	:: d_step { !unmet && ns.moved && !ns.start && !start[1] && start[0] && may_read -> start[1] = higher(greatest, floor) + 1; printf("store: again as %d\n", start[1] - 1) }
	:: d_step { !unmet && ns.moved && !ns.start && start[0] && all_done -> ns.start = start[0]; waits = early; start[0] = 0; start[1] = 0; printf("store: the start is %d\n", ns.start - 1) }
	:: d_step { !unmet && ns.moved && !ns.start && start[1] && all_done -> ns.start = start[1]; waits = early; start[0] = 0; start[1] = 0; printf("store: the start is %d\n", ns.start - 1) }
	od
}

#define can_take(r) (kind[me] == 0 && epoch[me] == 0 && lives < LIVES && !unmet && may_take(me) && (!row[r].there || (row[r].expiry == 0 && !early)))

inline take(r) {
	lives++; kind[me] = TAKE; view[me] = ns.moved; at[me] = r; seen[me] = row[r].epoch; to[me] = begins(me);
	printf("owner %d: asks for worker %d\n", me, r)
}

#define can_extend(h) (kind[me] == 0 && epoch[me] > 0 && h > limit[me] && h <= TICKS && !unmet)

inline extend(h) {
	if
	:: row[mine[me]].barred && aged[me] -> lose(me); printf("owner %d: knows that it has lost\n", me)
	:: else ->
		kind[me] = EXTEND; view[me] = ns.moved; at[me] = mine[me]; seen[me] = epoch[me]; to[me] = h; young[me] = 1;
		printf("owner %d: asks for the horizon %d\n", me, h)
	fi
}

#define can_issue(t) (t < TICKS && epoch[me] > 0 && next[me] <= t && t < limit[me])

inline issue(t) {
	printf("owner %d: issues tick %d of worker %d, of the new layout: %d\n", me, t, mine[me], new(me));
	next[me] = t + 1;
	assert((issued[mine[me]] & (1 << t)) == 0); /* unique */
	issued[mine[me]] = issued[mine[me]] | (1 << t);
	if
	:: new(me) -> least = (t < least -> t : least)
	:: else -> above = higher(above, t + 1)
	fi;
	assert(above <= least); /* ascending */
#ifdef REACH
	assert(!(new(me) && above && (FAILOVERS == 0 || again))) /* reached */
#endif
}

/* The row may have expired, and nobody has taken it. */
#define granted (row[at[me]].epoch == seen[me] && row[at[me]].expiry == 0) /* both are 0 if there is no row */
#define owned (row[at[me]].there && row[at[me]].epoch == seen[me] && row[at[me]].owner == me && in_force)

proctype Owner(byte me) {
end:	do
	:: d_step { can_take(0) -> take(0) }
#if ROWS > 1
	:: d_step { can_take(1) -> take(1) }
#endif
	:: d_step { kind[me] == TAKE ->
		if
		:: granted ->
			row[at[me]].horizon = (row[at[me]].moved == view[me] -> row[at[me]].horizon : 0); /* that of another layout is below the start */
			row[at[me]].there = 1; row[at[me]].moved = view[me]; row[at[me]].fenced = 0; row[at[me]].epoch++; row[at[me]].owner = me; row[at[me]].expiry = TTL; row[at[me]].barred = 0;
			mine[me] = at[me]; epoch[me] = row[at[me]].epoch; next[me] = higher(row[at[me]].horizon, to[me]); limit[me] = next[me];
			aged[me] = 0; young[me] = 0;
			printf("owner %d: has worker %d, epoch %d, from %d\n", me, at[me], epoch[me], next[me])
		:: else
		fi;
		end_statement(me) }
	:: d_step { can_extend(1) -> extend(1) }
	:: d_step { can_extend(2) -> extend(2) }
	:: d_step { can_extend(3) -> extend(3) }
	:: d_step { kind[me] == EXTEND -> /* and the owner is answered */
		if
		:: owned ->
			row[at[me]].horizon = higher(row[at[me]].horizon, to[me]); row[at[me]].expiry = TTL; row[at[me]].barred = 0;
			given = higher(given, to[me]);
			limit[me] = to[me]; aged[me] = !young[me];
			printf("owner %d: has the horizon %d of worker %d\n", me, to[me], at[me])
		:: else -> lose(me); printf("owner %d: knows that it has lost\n", me)
		fi;
		end_statement(me) }
	:: d_step { can_issue(0) -> issue(0) }
	:: d_step { can_issue(1) -> issue(1) }
	:: d_step { can_issue(2) -> issue(2) }
	od
}

init {
	atomic {
		run Owner(0); run Owner(1);
#if OWNERS > 2
		run Owner(2);
#endif
	}
}
