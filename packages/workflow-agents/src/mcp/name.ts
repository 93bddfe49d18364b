import { createHash } from "node:crypto";

const longest = 64;

/**
 * The name by which a model knows a server's tool: `server__tool`, of letters, digits, `_` and `-`, 64
 * at most. A name that had to be changed, or is taken, ends in a few digits of its own.
 */
export function toolName(server: string, tool: string, taken: Set<string>): string {
  const plain = `${server}__${tool.replace(/[^\w-]/g, "_")}`;
  const isKept = plain.length <= longest && !taken.has(plain);
  const digits = createHash("sha256").update(tool).digest("hex").slice(0, 6);
  const name = isKept ? plain : `${plain.slice(0, longest - 7)}_${digits}`;
  taken.add(name);
  return name;
}
