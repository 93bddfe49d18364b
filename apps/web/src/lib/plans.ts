import { type QueryClient, queryOptions } from "@tanstack/react-query";
import type * as Api from "@uncaged/workflow-server/api-types";
import { pathOf, queryOf, request, type RequestQuery, requestStream } from "./request.ts";
import { eventsIn } from "./server-events.ts";

export type PlanRun = Api.PlanView["runs"][number];

export type Phase = Api.Plan["phase"];

export const planKeys = {
  all: ["plans"] as const,
  lists: ["plans", "list"] as const,
  ones: ["plans", "one"] as const,
};

export const plansQuery = queryOf<Api.PlanRow[]>([...planKeys.lists, "all"], "/plans");

/** Plans that wait for a confirmation or a decision. */
export const waitingPlansQuery = queryOf<Api.PlanRow[]>([...planKeys.lists, "waiting"], "/plans", {
  waits: true,
});

export const planQuery = (id: string) =>
  queryOf<Api.PlanView>([...planKeys.ones, id], pathOf("plans", id));

/** Updates a plan in the lists; a null row removes it. The page of the plan reads the plan again. */
export function takePlan(client: QueryClient, id: string, row: Api.PlanRow | null): void {
  const put = (rows: Api.PlanRow[] | undefined, isListed: boolean) => {
    if (!rows || !row || !isListed) return rows?.filter((one) => one.id !== id);
    const isThere = rows.some((one) => one.id === id);
    return isThere ? rows.map((one) => (one.id === id ? row : one)) : [row, ...rows];
  };
  client.setQueryData(plansQuery.queryKey, (rows) => put(rows, true));
  client.setQueryData(waitingPlansQuery.queryKey, (rows) => put(rows, row?.waits === true));
  void client.invalidateQueries({ queryKey: planKeys.ones });
}

const act = <Answer>(id: string, action: string, json: unknown = {}, query?: RequestQuery) =>
  request<Answer>(pathOf("plans", id, action), { method: "POST", json, query });

/** Confirms a plan if it still has this hash. */
export const confirmPlan = (id: string, hash: string) =>
  act<Api.StartedPlan>(id, "confirm", { hash });

export const runPlan = (id: string, data?: string) => act<Api.StartedPlan>(id, "run", { data });

export const retryPlan = (id: string) => act<Api.StartedPlan>(id, "retry");

export const changePlan = (id: string, change: "pause" | "resume" | "cancel" | "reject") =>
  request<Api.Plan>(pathOf("plans", id, change), { method: "POST" });

/** Replaces the definition of a plan if it still has this hash. */
export const definePlan = (id: string, hash: string, definition: Api.PlanDefinition) =>
  act<Api.PlanView>(id, "definition", definition, { hash });

export const decidePlan = (
  id: string,
  decision: Api.PlanDecision,
  { question, stepId }: Pick<Api.WantedDecision, "question" | "stepId">,
) => act<unknown>(id, "answer", { decision, question, stepId });

export const removePlan = (id: string) =>
  request<{ id: string }>(pathOf("plans", id), { method: "DELETE" });

/** A conversation with the planner, with its completed turns. */
export const conversationQuery = (session: string) =>
  queryOptions({
    ...queryOf<Api.PlannerConversation>(["planner", session], pathOf("planner", session)),
    // A missing conversation is not an error, and a turn in another program sends no events to this page.
    retry: false,
    refetchInterval: ({ state: { data } }) => (data?.turn === "elsewhere" ? elsewhereMs : false),
  });

const elsewhereMs = 2_000;

export const stopPlanner = (session: string) =>
  request<{ session: string }>(pathOf("planner", session, "stop"), { method: "POST" });

export type PlannerMessage = {
  [Name in keyof Api.PlannerEvents]: { name: Name; data: Api.PlannerEvents[Name] };
}[keyof Api.PlannerEvents];

/** Sends a message to the planner and streams its turn. */
export const writeToPlanner = (path: string, text: string): AsyncGenerator<PlannerMessage> =>
  messagesOf(requestStream(path, { method: "POST", json: { text } }));

/** Streams the running turn of a conversation from its beginning. Without a running turn, the stream is empty. */
export const followPlanner = (
  session: string,
  signal: AbortSignal,
): AsyncGenerator<PlannerMessage> =>
  messagesOf(requestStream(pathOf("planner", session, "events"), { signal }));

async function* messagesOf(
  stream: ReturnType<typeof requestStream>,
): AsyncGenerator<PlannerMessage> {
  for await (const { name, data } of eventsIn(await stream))
    yield { name, data: JSON.parse(data) as unknown } as PlannerMessage;
}
