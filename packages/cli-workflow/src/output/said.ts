/** What a step says, without its own role at the beginning: the role stands before it already. */
export function saidBy({ role, content }: { role: string; content: string }): string {
  return content.startsWith(`${role}: `) ? content.slice(role.length + 2) : content;
}
