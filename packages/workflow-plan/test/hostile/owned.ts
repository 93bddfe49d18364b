import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Victim } from "./victim.ts";

/**
 * Works with git and the command line in a project to which a step wrote. Returns the effects of planted code, which
 * writes a file in the home directory when it runs.
 */
export async function ownedBy(victim: Victim, project: string): Promise<string[]> {
  const owned = join(victim.home, "owned");
  const found: string[] = [];
  const look = (what: string) => {
    if (!existsSync(owned)) return;
    found.push(`${what} ran it: ${readFileSync(owned, "utf8").slice(0, 100)}`);
    rmSync(owned);
  };
  const identity = ["-c", "user.name=x", "-c", "user.email=x@example.com"];
  const programs = [
    ["git", "status", "--short"],
    ["git", "diff"],
    ["git", "add", "readme"],
    ["git", ...identity, "commit", "-q", "--allow-empty", "-m", "x"],
    ["git", "checkout", "-q", "-b", "other"],
  ];
  for (const words of programs) {
    await victim.does(words, { cwd: project });
    look(words.join(" "));
  }
  for (const words of [["version"], ["list"], ["plan", "list"], ["plan", "config"], ["doctor"]]) {
    await victim.run(words, { cwd: project });
    look(`uncaged-workflow ${words.join(" ")}`);
  }
  // The project's files must not change the agent or the sandbox of the next plan.
  const [id = ""] = await victim.create([{ steps: [victim.step("nothing", [])], cwd: project }]);
  const env = { UNCAGED_PLAN_AGENT_COMMAND: victim.agent };
  await victim.run(["plan", "show", id], { cwd: project, env });
  look("plan show");
  const confirmed = await victim.run(["plan", "confirm", id], { cwd: project });
  if (confirmed.code === 0) {
    const view = await victim.ended(id);
    look("plan confirm");
    for (const { meta } of await victim.records(view)) {
      if (meta.event === "started" && meta.sandbox !== "bubblewrap")
        found.push(`the next plan's sandbox: ${String(meta.sandbox)}`);
    }
  }
  look("plan confirm");
  return found;
}
