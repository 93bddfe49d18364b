import { openLocalHost } from "@uncaged/workflow/host";
import type { Workflow } from "../../src/entry/index.ts";
import { openPlans } from "../../src/entry/service.ts";

/* Stores the plans of stdin unconfirmed, and prints their ids. */
type Task = { root: string; home: string; cwd: string; workflows: Workflow[] };
const { cwd, home, root, workflows } = JSON.parse(await Bun.stdin.text()) as Task;
const env = { ...process.env, PATH: process.env.PATH ?? "" } as Record<string, string>;
const plans = openPlans({ host: openLocalHost({ path: root }), home, env, cwd });
const ids: string[] = [];
for (const workflow of workflows) ids.push((await plans.create(workflow)).id);
plans.close();
process.stdout.write(JSON.stringify(ids));
