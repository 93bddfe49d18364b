import { isWorkflowError } from "@uncaged/workflow";
import { entryFiles } from "@uncaged/workflow/document";
import { readFile, realpath } from "node:fs/promises";
import { dirname, join, sep } from "node:path";
import { getStepType, modelSides, type StepType } from "../document/document.ts";
import type { StepDocument, WorkflowDocument } from "../document/format.ts";
import { builtInTools } from "../document/tools.ts";
import { literalPath, runsWorkflow, withPath } from "../document/outline.ts";
import type { Documents } from "../state/state.ts";
import { checkedDocument, gather, type Gathered, type StepPositions } from "./source.ts";
import { unreadableChild } from "./errors.ts";

/** A kind of source for `addWorkflow` and `buildSource` of `@uncaged/workflow/host`. */
export type StepsSource = {
  matches(file: string): boolean;
  module(
    text: string,
    file: string,
  ): Promise<{
    code: string;
    resolve: Record<string, string>;
    inputs: string[];
    roles: StepPositions;
  }>;
};

/**
 * Returns a kind of source that builds bundles from step workflows in `.json`, `.yaml` and `.yml` files. Checks a file
 * and the files that its steps run by a literal path, relative to the file, and bundles all of them with the default
 * adapters that they use. `find` resolves missing files. `warn` receives each warning of the check, with file, line and
 * column. With `isClosed`, reads no files outside the document's folder.
 *
 * @example await addWorkflow(root, "review", "flow.json", { sources: [stepsSource(console.warn)] });
 */
export function stepsSource(
  warn: (warning: string) => void,
  { isClosed = false, find }: { isClosed?: boolean; find?: FindWorkflow } = {},
): StepsSource {
  const read = (text: string, file: string) => {
    const found = checkedDocument(text, file, { tools: builtInTools });
    for (const warning of [...found.warnings, ...unserved(found.document, file)]) warn(warning);
    return found;
  };
  const checked = (text: string, file: string) => read(text, file).document;
  return {
    matches: (file) => /\.(json|ya?ml)$/i.test(file),
    async module(text, file) {
      const known = new Map<string, WorkflowDocument>();
      const inputs: string[] = [];
      const { document, positions } = read(text, file);
      const gathered = await gather(document, file, async (path, step, by, literal) => {
        const child = join(dirname(file), path);
        const parent = join(dirname(file), by);
        const part = known.get(path);
        if (part) return part;
        if (isClosed && path.startsWith("../")) throw unreadableChild(child, step, parent);
        const beside = await readChild(child);
        if ("text" in beside) {
          inputs.push(child);
          return checked(beside.text, child);
        }
        const name = literal.replace(/^\/+/, "");
        const found = await find?.(name);
        if (!found) throw unreadableChild(child, step, parent, beside.cause);
        if ("text" in found) {
          if (found.file !== undefined) inputs.push(found.file);
          return checked(found.text, name);
        }
        return registered(name, found, known);
      });
      return { code: moduleCode(gathered), resolve: ownFiles(), inputs, roles: positions };
    },
  };
}

/**
 * Resolves a literal path that is not a file beside the referring document. Returns a text (with its `file` if it comes
 * from a file) or a registered workflow.
 */
export type FindWorkflow = (
  path: string,
) => Promise<{ text: string; file?: string } | Documents | null>;

/** Searches the project's folder, then the registered workflows. */
export const findIn =
  (folder: string, named: (name: string) => Promise<Documents>): FindWorkflow =>
  async (path) => {
    const [home, real] = await Promise.all([folder, join(folder, path)].map(realPath));
    if (home && real?.startsWith(`${home}${sep}`)) {
      const file = await readChild(real);
      if ("text" in file) return { ...file, file: real };
    }
    return await named(path).catch((error: unknown) => {
      if (isWorkflowError(error)) return null;
      throw error;
    });
  };

const realPath = (path: string): Promise<string | null> => realpath(path).catch(() => null);

/** Returns a registered workflow whose children have unique names. */
function registered(
  name: string,
  { document, subflows }: Documents,
  known: Map<string, WorkflowDocument>,
): WorkflowDocument {
  const renamed = ({ steps, ...rest }: WorkflowDocument): WorkflowDocument => ({
    ...rest,
    steps: steps.map((step) => {
      const path = runsWorkflow(step) ? literalPath(step) : null;
      return path === null ? step : withPath(step, `/${name}/${path}`);
    }),
  });
  for (const [path, part] of Object.entries(subflows)) known.set(`${name}/${path}`, renamed(part));
  return renamed(document);
}

async function readChild(path: string): Promise<{ text: string } | { cause: unknown }> {
  try {
    return { text: new TextDecoder("utf-8", { fatal: true }).decode(await readFile(path)) };
  } catch (cause) {
    return { cause };
  }
}

const packageName = "@uncaged/workflow-steps";
const adaptersName = `${packageName}/adapters`;

const ownFiles = () => entryFiles(import.meta, [packageName, adaptersName]);

/**
 * Returns the source of a bundle. Equal documents give equal sources. Contains only the adapters that the documents
 * use.
 */
function moduleCode({ document, subflows }: Gathered): string {
  const made = adaptersFor([...subflows.values(), document]);
  const children = [...subflows].map(
    ([path, child]) => `[${JSON.stringify(path)}, ${parsed(canonicalText(child))}]`,
  );
  const options = [
    "isChecked: true",
    children.length > 0 && `subflows: Object.fromEntries([${children.join(", ")}])`,
    // Adapters that need a directory exist only for a thread with a directory.
    made.length > 0 &&
      `adapters: (options, steps) => { const { cwd, env, blobs } = options; return { ${made.join(", ")} }; }`,
  ];
  return [
    `import { stepsBundle } from ${JSON.stringify(packageName)};`,
    ...(made.length > 0 ? [`import * as adapters from ${JSON.stringify(adaptersName)};`] : []),
    `const document = ${parsed(canonicalText(document))};`,
    `export const { run, descriptor } = stepsBundle(document, { ${options.filter(Boolean).join(", ")} });`,
    "",
  ].join("\n");
}

// Embedded as JSON text, because `__proto__` is special in an object literal, and parsing a literal is slower.
const parsed = (json: string): string => `JSON.parse(${JSON.stringify(json)})`;

/** Returns the code of the default adapters that the workflows use, one property each. */
function adaptersFor(documents: readonly WorkflowDocument[]): string[] {
  const steps = documents.flatMap((document) => document.steps);
  const calls = steps.filter((step) => !runsWorkflow(step));
  const calling = (...types: StepType[]) =>
    calls.filter((step) => types.some((type) => type === getStepType(step)));
  const asking = calling("LLM");
  const gives = (name: string) => asking.some((step) => inputsOf(step)[name] !== undefined);
  const models = [...new Set(asking.flatMap(providersOf))].toSorted();
  const providers = models.map((name) => `adapters.${name}Models()`).join(", ");
  const tools = gives("tools") ? ", tools: adapters.stepTools()" : "";
  const docs = JSON.stringify(Object.assign({}, ...documents.map((one) => one.registry.docs)));
  const inFolder = (name: string, call: string) =>
    `...(cwd !== undefined && { ${name}: adapters.${call} })`;
  return [
    models.length > 0 &&
      `llm: adapters.modelAdapter({ models: [${providers}], options, steps${tools} })`,
    steps.some(usesFiles) && inFolder("file", "fileAdapter({ cwd })"),
    gives("docs") && inFolder("doc", `docAdapter({ cwd, docs: ${parsed(docs)} })`),
    calling("API", "Download").length > 0 && "api: adapters.apiAdapter()",
    calling("Tool").length > 0 &&
      inFolder("tool", "toolAdapter(adapters.stepTools(), { cwd, env, blobs })"),
  ].filter((code) => code !== false);
}

function usesFiles(step: StepDocument): boolean {
  if (["Write", "Download", "Unzip"].includes(String(getStepType(step)))) return true;
  if (runsWorkflow(step) && literalPath(step) === null) return true;
  const targets = typeof step.out === "string" ? [step.out] : Object.keys(step.out ?? {});
  return targets.some((target) => target.startsWith("/"));
}

const inputsOf = (step: StepDocument): Record<string, unknown> => step.in ?? step.input ?? {};

/** Returns the providers whose models a step may call: the literal provider, otherwise both. */
function providersOf(step: StepDocument): string[] {
  const { provider = step.provider, model = step.model } = inputsOf(step);
  const name = literal(provider) || modelSides(literal(model))?.[0];
  if (name === "anthropic" || name === "openai") return [name];
  if (provider === undefined && /^claude\b/i.test(literal(model))) return ["anthropic"];
  return ["anthropic", "openai"];
}

const literal = (value: unknown): string =>
  typeof value === "string" && !value.startsWith("=") ? value : "";

/** Returns a warning for each step that needs a custom adapter, which a workflow file can't provide. */
const unserved = ({ steps }: WorkflowDocument, file: string): string[] =>
  steps.flatMap((step) => {
    const type = getStepType(step);
    if (type !== "Service" && type !== "Component") return [];
    const name = type.toLowerCase();
    return `${file}: ${step.id}: a workflow added from a file can't have the adapter ${name}: build it with stepsBundle`;
  });

/**
 * Returns the canonical text of a document for a bundle, independent of spacing and of the order of fields. Keeps the
 * order of keys in `in`, `out` and other values, because it is visible at run time. Omits `$schema`, which only editors
 * use.
 */
function canonicalText(document: WorkflowDocument): string {
  const { $schema: _, registry, steps, ...rest } = document;
  return JSON.stringify(
    sorted({ ...rest, registry: sorted(registry), steps: steps.map((step) => sorted(step)) }),
  );
}

const sorted = (record: StepDocument | Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(record).toSorted(([one], [other]) => (one < other ? -1 : 1)));
