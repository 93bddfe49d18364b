import { type QueryClient, queryOptions } from "@tanstack/react-query";
import type {
  Plan,
  PlanDecision,
  WantedDecision,
  PlanDefinition,
  PlannerConversation,
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
  lists: ["plans", "list"] as const,
  ones: ["plans", "one"] as const,
};

export const plansQuery = queryOf<PlanRow[]>([...planKeys.lists, "all"], "/plans");

/** The plans that wait for a person: to be confirmed, or for a decision. */
export const waitingPlansQuery = queryOf<PlanRow[]>([...planKeys.lists, "waiting"], "/plans", {
  waits: true,
});

export const planQuery = (id: string) =>
  queryOf<PlanView>([...planKeys.ones, id], pathOf("plans", id));

/** Takes a plan as it is now into the lists; null when it is gone. A page of it reads it again. */
export function takePlan(client: QueryClient, id: string, row: PlanRow | null): void {
  const put = (rows: PlanRow[] | undefined, isListed: boolean) => {
    if (!rows || !row || !isListed) return rows?.filter((one) => one.id !== id);
    const isThere = rows.some((one) => one.id === id);
    return isThere ? rows.map((one) => (one.id === id ? row : one)) : [row, ...rows];
  };
  client.setQueryData(plansQuery.queryKey, (rows) => put(rows, true));
  client.setQueryData(waitingPlansQuery.queryKey, (rows) => put(rows, row?.waits === true));
  void client.invalidateQueries({ queryKey: planKeys.ones });
}

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

export const decidePlan = (
  id: string,
  decision: PlanDecision,
  { question, stepId }: Pick<WantedDecision, "question" | "stepId">,
) => act<unknown>(id, "answer", { decision, question, stepId });

export const removePlan = (id: string) =>
  request<{ id: string }>(pathOf("plans", id), { method: "DELETE" });

/** A conversation with the planner, as far as its turns have ended. */
export const conversationQuery = (session: string) =>
  queryOptions({
    ...queryOf<PlannerConversation>(["planner", session], pathOf("planner", session)),
    // A conversation that is not there is an answer; the turn of another program reports nothing here.
    retry: false,
    refetchInterval: ({ state: { data } }) => (data?.turn === "elsewhere" ? elsewhereMs : false),
  });

const elsewhereMs = 2_000;

export const stopPlanner = (session: string) =>
  request<{ session: string }>(pathOf("planner", session, "stop"), { method: "POST" });

/** A message of a conversation with the planner. */
export type PlannerMessage = {
  [Name in keyof PlannerEvents]: { name: Name; data: PlannerEvents[Name] };
}[keyof PlannerEvents];

/** Writes to the planner: its text comes as it is made, then its turn. */
export const writeToPlanner = (path: string, text: string): AsyncGenerator<PlannerMessage> =>
  messagesOf(requestStream(path, { method: "POST", json: { text } }));

/** Follows the turn that goes on in a conversation, from its beginning; nothing comes where none does. */
export const followPlanner = (
  session: string,
  signal: AbortSignal,
): AsyncGenerator<PlannerMessage> =>
  messagesOf(requestStream(pathOf("planner", session, "events"), { signal }));

async function* messagesOf(
  stream: ReturnType<typeof requestStream>,
): AsyncGenerator<PlannerMessage> {
  let name = "";
  for await (const line of linesOf(await stream)) {
    if (line.startsWith("event: ")) name = line.slice("event: ".length);
    if (!line.startsWith("data: ")) continue;
    yield { name, data: JSON.parse(line.slice("data: ".length)) as unknown } as PlannerMessage;
  }
}
