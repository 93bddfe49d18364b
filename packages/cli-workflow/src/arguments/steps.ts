import type { Host, Step } from "@uncaged/workflow/host";
import { isRecord } from "@uncaged/workflow/internal";
import { Registry, type WorkflowDocument } from "@uncaged/workflow-steps";
import {
  type Documents,
  documentsOf,
  stepRun,
  type StepRun,
} from "@uncaged/workflow-steps/threads";
import { badOption } from "../session/errors.ts";
import { looseJson } from "./values.ts";
import { noSuchStep, notDeclared, notRunSoOften } from "./errors.ts";

/* Functions for step workflows only. Callers load this module on demand. */

/** Returns the documents of the step workflow from which a bundle was built. */
export const documentsIn = async (host: Host, hash: string): Promise<Documents> =>
  documentsOf(hash, await host.descriptor(hash));

/**
 * Parses the values given by `--set`: `$variable`, `_local` or a param. Parses exact JSON and keeps other text. For a
 * STRING declaration, `7` and `true` stay text. Refuses text that begins like JSON but is invalid.
 */
export function overridesOf(
  pairs: readonly string[],
  { registry }: WorkflowDocument,
): Record<string, unknown> {
  const { vars, params } = new Registry(registry);
  const all = [...vars, ...params];
  const declared = all.map(({ name }) => name);
  const texts = new Set(all.flatMap(({ name, type }) => (type === "STRING" ? [name] : [])));
  return Object.fromEntries(
    pairs.map((pair) => {
      const [, name, value = ""] = /^(\$?[A-Za-z_]\w*)=([\s\S]*)$/.exec(pair) ?? [];
      if (name === undefined) {
        const hint = "give a name and its value, in single quotes: --set '$plan={\"days\":3}'";
        throw badOption("--set", pair, hint);
      }
      if (!declared.includes(name) && !/^_(?!_)/.test(name))
        throw notDeclared(name, listedOrNull(declared));
      const isText = texts.has(name) && !/^\s*["{[]/.test(value);
      return [name, isText ? value : looseJson(`--set ${name}`, value)];
    }),
  );
}

/**
 * Returns the params that a rerun replaces, by name.
 * @throws WorkflowError `NOT_DECLARED`, `BAD_OPTION`.
 */
export function declaredParams(
  params: unknown,
  { registry }: WorkflowDocument,
): Record<string, unknown> {
  if (params === undefined) return {};
  if (!isRecord(params)) {
    throw badOption(
      "--params",
      JSON.stringify(params),
      "give one JSON object: --params '{\"days\":3}'",
    );
  }
  const declared = new Registry(registry).params.map(({ name }) => name);
  const other = Object.keys(params).find((name) => !declared.includes(name));
  if (other !== undefined) throw notDeclared(other, listedOrNull(declared));
  return params;
}

const listedOrNull = (names: readonly string[]): string | null =>
  names.length === 0 ? null : listed(names);

/**
 * Returns the start for `--from-step`: the last run of a step, or with `step#2` the second run. `ids` are the ids of
 * the workflow's steps.
 */
export function rerunStart(
  text: string,
  ids: readonly string[],
  steps: readonly Step[],
): { stepID: string; kept: number; path: StepRun["path"] } {
  const [, named = text, nth] = ids.includes(text)
    ? []
    : (/^(.+)#([1-9]\d{0,8})$/.exec(text) ?? []);
  if (!ids.includes(named)) throw noSuchStep(named, listed(ids));
  const run = stepRun(steps, named, nth === undefined ? undefined : Number(nth));
  if (run) return { stepID: named, kept: run.before, path: run.path };
  throw notRunSoOften(named, nth);
}

const mostNames = 30;

function listed(names: readonly string[]): string {
  const more = names.length > mostNames ? ` and ${names.length - mostNames} more` : "";
  return `${names.slice(0, mostNames).join(", ")}${more}`;
}
