/**
 * The name that a reader sees for a role: those of the engine's own steps are told in words. What was put
 * in with them may be no answer: their meta says.
 */
export function roleName(role: string, meta: Readonly<Record<string, unknown>> = {}): string {
  if (role === "__wait__") return "Question";
  if (role === "__input__") return meta.for === "rerun" ? "Rerun" : "Answer";
  return role;
}
