import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { createRoleModerator, END, type Role } from "@uncaged/workflow";
import { describe, worktree } from "../../src/entry/index.ts";

/*
 * Two roles that write in turn, in the thread's worktree. The file `PLACE-die`, where PLACE is an environment variable,
 * names the place at which the process is killed: during a role's work, or between the git commit and the commit of the
 * step.
 */
const steps = 3;

function dieAt(folder: string, place: string): void {
  const file = `${folder}-die`;
  if (!existsSync(file) || readFileSync(file, "utf8") !== place) return;
  rmSync(file);
  process.kill(process.pid, "SIGKILL");
}

const writer: Role<object> = async ({ cwd, steps: before, env }) => {
  const number = before.length + 1;
  appendFileSync(join(cwd, "lines"), `${number}\n`);
  writeFileSync(join(cwd, `file ${number}`), "half");
  mkdirSync(join(cwd, "ignored"), { recursive: true });
  writeFileSync(join(cwd, "ignored", `${number}`), "");
  dieAt(env?.PLACE ?? "", `role ${number}`);
  writeFileSync(join(cwd, `file ${number}`), `whole ${number}`);
  return { content: readFileSync(join(cwd, "lines"), "utf8"), meta: {} };
};

const tree = worktree();
const dying =
  (role: Role<object>): Role<Record<string, unknown>> =>
  async (ctx) => {
    const result = await tree(role)(ctx);
    dieAt(ctx.env?.PLACE ?? "", `commit ${ctx.steps.length + 1}`);
    return result;
  };

const entry = { description: "Writes", schema: { type: "object" } };
export const descriptor = describe("Writes in turn", { even: entry, odd: entry });
export const run = createRoleModerator<Record<"even" | "odd", Record<string, unknown>>>({
  roles: { even: dying(writer), odd: dying(writer) },
  moderator: ({ steps: before }) =>
    before.length >= steps ? END : before.length % 2 ? "odd" : "even",
});
