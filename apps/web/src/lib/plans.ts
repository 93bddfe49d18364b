import { queryOptions } from "@tanstack/react-query";
import type {
  Plan,
  PlanDecision,
  PlanDefinition,
  PlannerEvents,
  PlanRow,
  PlanView,
  StartedPlan,
} from "@uncaged/workflow-server/api-types";
import { linesOf, pathOf, queryOf, request, requestStream } from "./request.ts";

/** A run of a plan, with its steps. */
export type PlanRun = PlanView["runs"][number];

export type Phase = Plan["phase"];

export const planKeys = {
  all: ["plans"] as const,
  one: (id: string) => ["plans", "one", id] as const,
};

/** A command, a service and a chat change plans too, and no event reports it: they are read again this often. */
const readEveryMs = 2_000;
/** A long list as much more seldom as it takes longer. */
const readEveryMsOfEach = 2;

export const plansQuery = queryOptions({
  ...queryOf<PlanRow[]>([...planKeys.all, "list"], "/plans"),
  refetchInterval: ({ state: { data = [] } }) =>
    Math.max(readEveryMs, data.length * readEveryMsOfEach),
});

export const planQuery = (id: string) =>
  queryOptions({
    ...queryOf<PlanView>(planKeys.one(id), pathOf("plans", id)),
    refetchInterval: readEveryMs,
  });

/** The thread of a run. */
export const threadOfRun = (runId: string): string => runId.replace(/^run_/, "");

const act = <Answer>(id: string, action: string, json: unknown = {}) =>
  request<Answer>(pathOf("plans", id, action), { method: "POST", json });

/** Confirms the plan that has this hash, and no other one. */
export const confirmPlan = (id: string, hash: string) => act<StartedPlan>(id, "confirm", { hash });

export const runPlan = (id: string, data?: string) => act<StartedPlan>(id, "run", { data });

export const retryPlan = (id: string) => act<StartedPlan>(id, "retry");

export const changePlan = (id: string, change: "pause" | "resume" | "cancel" | "reject") =>
  request<Plan>(pathOf("plans", id, change), { method: "POST" });

export const definePlan = (id: string, definition: PlanDefinition) =>
  act<PlanView>(id, "definition", definition);

export const decidePlan = (id: string, decision: PlanDecision, stepId: string) =>
  act<unknown>(id, "answer", { decision, stepId });

export const removePlan = (id: string) =>
  request<{ id: string }>(pathOf("plans", id), { method: "DELETE" });

/** A message of a conversation with the planner. */
export type PlannerMessage = {
  [Name in keyof PlannerEvents]: { name: Name; data: PlannerEvents[Name] };
}[keyof PlannerEvents];

/** Writes to the planner: its text comes as it is made, then its turn. */
export async function* writeToPlanner(path: string, text: string): AsyncGenerator<PlannerMessage> {
  const body = await requestStream(path, { method: "POST", json: { text } });
  let name = "";
  for await (const line of linesOf(body)) {
    if (line.startsWith("event: ")) name = line.slice("event: ".length);
    if (!line.startsWith("data: ")) continue;
    yield { name, data: JSON.parse(line.slice("data: ".length)) as unknown } as PlannerMessage;
  }
}
