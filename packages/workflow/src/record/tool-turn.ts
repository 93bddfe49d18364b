import type { Attempt, AttemptTurn } from "./attempt.ts";

/** A call of a tool among the turns of an attempt. */
type ToolTurn = Extract<AttemptTurn, { kind: "tool" }>;

/** Tool turns requested by a model that have started to run. */
export const entered = new WeakSet<ToolTurn>();

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

export const tools = ({ turns }: Attempt): ToolTurn[] =>
  turns.filter((turn) => turn.kind === "tool");

export const isAsked = (turn: ToolTurn): boolean =>
  turn.id !== "" && turn.status === "running" && !entered.has(turn);

export const running = (attempt: Attempt, name: string): ToolTurn | undefined =>
  tools(attempt).findLast((turn) => turn.name === name && turn.status === "running");

export function finish(turn: ToolTurn, output: unknown, isError: boolean, at: number): void {
  Object.assign(turn, { output, status: isError ? "failed" : "done", endedAt: at });
}

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

export function stop(turn: ToolTurn, at: number): void {
  if (turn.endedAt === null) Object.assign(turn, { status: "failed", endedAt: at });
}
