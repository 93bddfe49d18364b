import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { top } from "./source.ts";

/** Tools of a playing agent, by the team's names for its actions. */
export type Hands = {
  read: (path: string) => { name: string; input: object };
  write: (path: string, content: string) => { name: string; input: object };
  run: (command: string) => { name: string; input: object };
};

/** Tools of an agent with a model. */
export const sdkHands: Hands = {
  read: (path) => ({ name: "readFile", input: { path } }),
  write: (path, content) => ({ name: "writeFile", input: { path, content } }),
  run: (command) => ({ name: "runCommand", input: { argv: command.split(" ") } }),
};

const bash = (command: string) => ({
  name: "Bash",
  input: { command, description: "Does it" },
});

/** Uses Claude Code's shell, because its other tools require that a file was read before. */
export const claudeCodeHands: Hands = {
  read: (path) => bash(`cat ${path}`),
  write: (path, content) => bash(`cat > ${path} <<'END'\n${content}END`),
  run: bash,
};

/** Returns the folder of the real command. Its package has the binary of each platform in a separate package. */
export function claudeCodeFolder(): string {
  const agents = join(top, "packages/workflow-agents/package.json");
  const wrapper = createRequire(agents).resolve("@anthropic-ai/claude-code/package.json");
  const own = `@anthropic-ai/claude-code-${process.platform}-${process.arch}/package.json`;
  return dirname(createRequire(wrapper).resolve(own));
}
