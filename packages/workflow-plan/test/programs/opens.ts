import { openLocalHost } from "@uncaged/workflow/host";
import { join } from "node:path";
import { openPlans } from "../../src/entry/service.ts";
import { hello, workflow } from "../home.ts";

/* Opens a plan home and adds a plan to it. */
const [, , home = "", folder = ""] = process.argv;
const host = openLocalHost({ path: join(folder, "root") });
const plans = openPlans({ host, home, env: {}, cwd: folder });
await plans.create(workflow(hello(), { id: `wf_${process.pid}` }));
plans.close();
