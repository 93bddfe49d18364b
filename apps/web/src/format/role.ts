/** The name that a reader sees for a role: those of the engine's own steps are told in words. */
export function roleName(role: string): string {
  if (role === "__wait__") return "Question";
  if (role === "__input__") return "Answer";
  return role;
}
