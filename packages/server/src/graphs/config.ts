import { readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import type { z } from "@hono/zod-openapi";
import { pricedModels } from "@uncaged/workflow-agents/ledger";
import { toErrorRecord } from "@uncaged/workflow/host";
import type { Provider } from "../routes/drafts.ts";
import type { Context } from "../routes/route.ts";
import { configSchema, workflowGraphSchema } from "../schema/graph.ts";
import { fileInvalid, fileMissing, fileUnreadable } from "./errors.ts";

/** Returns the folder of the project's files: `PROJECT_ROOT`, else the storage root. */
export const projectRoot = ({ cwd, env, host }: Context): string =>
  env.PROJECT_ROOT ? resolve(cwd, env.PROJECT_ROOT) : host.root;

/**
 * Reads the default graph. @throws WorkflowError `FILE_MISSING` (missing), `FILE_INVALID` (usage), `FILE_UNREADABLE`.
 */
export const readDefaultWorkflow = async (context: Context) => {
  const found = await read(context, "default-workflow.json", workflowGraphSchema);
  if (found) return found;
  throw fileMissing();
};

/**
 * Reads the config file. The default is the built-in providers.
 * @throws WorkflowError as {@link readDefaultWorkflow}.
 */
export const readConfig = async (context: Context): Promise<z.input<typeof configSchema>> =>
  (await read(context, "config.json", configSchema)) ?? { providers: await builtIn(context) };

async function read<Schema extends z.ZodType>(
  context: Context,
  name: string,
  schema: Schema,
): Promise<z.output<Schema> | null> {
  const file = `.config/${name}`;
  const text = await readFile(join(projectRoot(context), file), "utf8").catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw fileUnreadable(file, error);
  });
  if (text === null) return null;
  const { data, error } = schema.safeParse(jsonOf(file, text));
  if (!error) return data;
  const [issue] = error.issues;
  throw fileInvalid(file, `${issue?.path.map(String).join(".") ?? ""}: ${issue?.message ?? ""}`);
}

function jsonOf(file: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw fileInvalid(file, toErrorRecord(error).message);
  }
}

const efforts = ["none", "minimal", "low", "medium", "high", "xhigh", "max"];
const names: Record<Provider, string> = { openai: "OpenAI", anthropic: "Anthropic" };

async function builtIn(context: Context) {
  const modelsOf = (provider: Provider) =>
    pricedModels()
      .filter((model) => model.startsWith("claude") === (provider === "anthropic"))
      .map((model) => ({ id: model, name: model, reasoningEfforts: efforts }));
  const providers: Provider[] = ["openai", "anthropic"];
  return await Promise.all(
    providers.map(async (id) => ({
      ...{ id, name: names[id], enabled: await context.drafts.hasAccess(id) },
      models: modelsOf(id),
    })),
  );
}
