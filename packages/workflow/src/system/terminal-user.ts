import { readFileSync } from "node:fs";
import { userInfo } from "node:os";
import type { AnsweredBy } from "../contract/contract.ts";

/** The user at the terminal, as the sender of an answer. */
export function terminalUser(): AnsweredBy {
  const name = loginName();
  return { kind: "terminal", ...(name !== undefined && { name }) };
}

// Bun reads the name from the environment, and returns "unknown" if no variable has a name.
function loginName(): string | undefined {
  const { uid, username } = userInfo();
  return nameInPasswd(uid) ?? (username === "unknown" ? undefined : username);
}

function nameInPasswd(uid: number): string | undefined {
  try {
    const lines = readFileSync("/etc/passwd", "utf8").split("\n");
    const fields = lines.map((line) => line.split(":"));
    return fields.find(([name, , id]) => name && id === String(uid))?.[0];
  } catch {
    return undefined;
  }
}
