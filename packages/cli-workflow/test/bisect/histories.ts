import type { Step, WorkflowFn } from "@uncaged/workflow";
import { Chance } from "../../../../test/check/chance.ts";
import { kinds, recordedThread, type World } from "../../../../test/check/threads.ts";
import { tryOf } from "../../../workflow/src/durable/output.ts";
import type { Recording } from "../../../workflow/src/upgrade/recording.ts";
import {
  type Body,
  edited,
  edits,
  type Fault,
  generatedBody,
  placesIn,
  type Place,
} from "./programs.ts";

/** The positions of the versions of a workflow. */
export type Positions = {
  count: number;
  /** The first version with the fault; null without a fault. */
  planted: number | null;
  /** The version of the recorded thread. */
  recordedAt: number;
  /** The oldest and the newest version to test. */
  range: [good: number, bad: number];
};

/** Versions of a durable workflow, and a thread that was recorded on one of them. */
export type History = Positions & {
  seed: number;
  bodies: Body[];
  recording: Recording;
  place: Place;
  /** Whether the thread ends in the recording, and the versions need no more answers. */
  isWhole: boolean;
};

const mostVersions = 12;
const fewestVersions = 3;

/** Chooses the positions of 3 to 12 versions. */
export function positionsIn(chance: Chance, hasFault: boolean): Positions {
  const count = fewestVersions + chance.below(mostVersions - fewestVersions + 1);
  const planted = hasFault ? 1 + chance.below(count - 1) : null;
  const recordedAt = chance.below(planted ?? count);
  const good = chance.below(planted ?? count - 1);
  const least = planted ?? good + 1;
  return { count, planted, recordedAt, range: [good, least + chance.below(count - least)] };
}

/** Loads a version whose roles draw their results. */
type Load = (body: Body) => Promise<WorkflowFn>;

/** Generates a history. Returns null if the recorded thread has no place for the fault. */
export async function generatedHistory(
  seed: number,
  fault: Fault | null,
  { load, world }: { load: Load; world: World },
): Promise<History | null> {
  const chance = new Chance(seed * 31 + 7);
  const isLonger = chance.is(0.25);
  const positions = positionsIn(chance, fault !== null);
  const { count, planted, recordedAt } = positions;
  const bodies: Body[] = [generatedBody(seed)];
  while (bodies.length <= recordedAt) bodies.push(edited(bodies, chance, edits.before));
  const run = await load(bodies.at(-1) as Body);
  const kind = kinds[chance.below(2 * kinds.length)] ?? "whole";
  const recording = await recordedThread(run, world, kind, seed);
  if (recording === null) return null;
  const places = placesIn(bodies[0] as Body, recording.steps);
  const place = places[chance.below(places.length)];
  if (!place) return null;
  while (bodies.length < count) {
    const before = bodies.at(-1) as Body;
    const isPlanted = fault !== null && bodies.length === planted;
    bodies.push(
      isPlanted
        ? fault.plant(before, place, chance)
        : edited(bodies, chance, isLonger ? edits.beyond : edits.after),
    );
  }
  return {
    ...{ ...positions, seed, bodies, recording, place },
    isWhole: recording.end === "returned" && !isLonger,
  };
}

/** The roles of a durable workflow, except added ones; and the roles of documents. */
export const durableRoles = "r[0-9]*";
export const allRoles = '[^_"][^"]*';

/** The roles of a thread that repeats recorded steps, in their order. The first `kept` steps are copied. */
export function rolesOf(steps: readonly Step[], roles: string, kept = 0): string[] {
  const pattern = new RegExp(`^${roles}$`);
  return steps
    .filter((step, at) => pattern.test(step.role) && (at < kept || tryOf(step) === null))
    .map(({ role }) => role);
}

const rolesIn = (roles: string): string =>
  `grep -o '{"role":"${roles}","content"' | cut -d '"' -f 4`;

/**
 * A script for threads that run these roles, in any order, since concurrent roles may end in any order. `isFirst`: they
 * may run more roles after them.
 */
export function rolesScript(roles: readonly string[], pattern: string, isFirst = false): string {
  const first = isFirst ? ` | head -n ${roles.length}` : "";
  const sorted = roles.toSorted().join(" ");
  return `test "$(${rolesIn(pattern)}${first} | LC_ALL=C sort | xargs)" = "${sorted}"`;
}

/** A script for threads that run the roles of a pair in this order. */
export const orderScript = ({ a, b }: Place): string =>
  `test "$(${rolesIn(durableRoles)} | grep -x -e ${a} -e ${b} | head -n 2 | xargs)" = "${a} ${b}"`;

/** A script for threads with a status. */
export const statusScript = (status: string): string => `grep -q '"status":"${status}"'`;
