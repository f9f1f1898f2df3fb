CREATE OR REPLACE FUNCTION {next}() RETURNS bigint
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS {quote}
DECLARE
	word bigint;
	claimed bigint;
	tick bigint;
	now_tick bigint;
BEGIN
	LOOP
		now_tick := {now};
		word := pg_sequence_last_value({state text});
{draw}		BEGIN
			PERFORM pg_advisory_xact_lock('pg_class'::regclass::oid::int, {state text}::regclass::oid::int);
			word := (SELECT last_value FROM {state});
			now_tick := {now};
			tick := word >> {low};
			IF now_tick >= 0 AND tick BETWEEN now_tick AND now_tick + {lead} AND (word & {low max}) < {sequence max} THEN
				word := {one more};
				IF (word & {low max}) <= {sequence max} THEN
					claimed := word;
				END IF;
			END IF;
			IF claimed IS NULL THEN
				tick := greatest(tick + 1, now_tick);
				IF now_tick >= 0 AND tick <= now_tick + {lead} AND tick <= {time max} THEN
					claimed := setval({state text}, tick << {low});
				END IF;
			END IF;
			RAISE SQLSTATE 'SF001';
		EXCEPTION WHEN SQLSTATE 'SF001' THEN
			NULL;
		END;
		IF claimed IS NOT NULL THEN
			RETURN {id of claimed};
		ELSIF now_tick < 0 THEN
			RAISE EXCEPTION USING ERRCODE = 'object_not_in_prerequisite_state',
				MESSAGE = '{name}_next: the clock is before the epoch, {epoch} UTC';
		ELSIF greatest(tick, now_tick) > {time max} THEN
			RAISE EXCEPTION USING ERRCODE = 'sequence_generator_limit_exceeded',
				MESSAGE = '{name}_next: the time of the layout is exhausted, it ends at {end} UTC';
		ELSIF tick - now_tick - {lead} > {patience} THEN
			RAISE EXCEPTION USING ERRCODE = 'object_not_in_prerequisite_state',
				MESSAGE = format('{name}_next: the IDs are %s s ahead of the clock, {lead text} is the lead',
					(tick - now_tick) * {tick seconds}),
				HINT = 'Was the clock set back? IDs are issued again when it has caught up.';
		END IF;
		PERFORM pg_sleep(((tick - now_tick - {lead}) * {tick seconds})::double precision);
	END LOOP;
END {quote}
