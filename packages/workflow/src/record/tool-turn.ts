import type { Attempt, AttemptTurn } from "./attempt.ts";

/** A call of a tool among the turns of an attempt. */
type ToolTurn = Extract<AttemptTurn, { kind: "tool" }>;

/** Tool turns requested by a model that have started to run. */
export const entered = new WeakSet<ToolTurn>();

/** Returns the turn of a tool that starts to run; `id` is the id of the model's call, empty without one. */
export const toolTurn = (id: string, name: string, input: unknown, at: number): ToolTurn => ({
  kind: "tool",
  id,
  name,
  input,
  status: "running",
  messages: [],
  at,
  endedAt: null,
});

/** Returns the tool turns of an attempt. */
export const tools = ({ turns }: Attempt): ToolTurn[] =>
  turns.filter((turn) => turn.kind === "tool");

/** Whether a model has requested a turn whose tool has not started to run. */
export const isAsked = (turn: ToolTurn): boolean =>
  turn.id !== "" && turn.status === "running" && !entered.has(turn);

/** Returns the last running turn of a tool; undefined if there is none. */
export const running = (attempt: Attempt, name: string): ToolTurn | undefined =>
  tools(attempt).findLast((turn) => turn.name === name && turn.status === "running");

/** Ends a turn with the output of its tool. */
export function finish(turn: ToolTurn, output: unknown, isError: boolean, at: number): void {
  Object.assign(turn, { output, status: isError ? "failed" : "done", endedAt: at });
}

/** Records the end that a tool reports. Returns false when no turn of the tool runs. */
export function endTool(
  attempt: Attempt,
  name: string,
  output: unknown,
  isError: boolean,
  at: number,
): boolean {
  const turn = running(attempt, name);
  // A model's tool call ends with the result that the model receives.
  if (turn?.id === "") finish(turn, output, isError, at);
  else if (turn) turn.output = output;
  return turn !== undefined;
}

/** Ends a running turn as failed. */
export function stop(turn: ToolTurn, at: number): void {
  if (turn.endedAt === null) Object.assign(turn, { status: "failed", endedAt: at });
}
