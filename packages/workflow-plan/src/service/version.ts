import { type Host, isWorkflowError } from "@uncaged/workflow/host";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Workflow } from "../plan/plan.ts";
import { planSource } from "../source/source.ts";
import { ifMissing } from "./threads.ts";

const longestSlug = 56;

/** The name under which a plan's bundle is registered, unless it is taken. */
export function slugOf(name: string): string {
  const plain = name.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
  const slug = plain.replace(/[^a-z0-9]+/g, "-").slice(0, longestSlug);
  const trimmed = slug.replace(/^-+|-+$/g, "");
  // The names that Windows keeps are none for a workflow either.
  return /^(|con|prn|aux|nul|com\d|lpt\d)$/.test(trimmed)
    ? `plan${trimmed && `-${trimmed}`}`
    : trimmed;
}

/** A name's candidates: itself, then with `-2` and so on. */
export const candidate = (slug: string, n: number): string => (n === 1 ? slug : `${slug}-${n}`);

/** A version of a plan's bundle. */
export type PlanVersion = { name: string; hash: string };

/**
 * Builds a plan's bundle and makes it the current version of a name. A new name is taken only where it is free, or
 * already stands for this very bundle; null when it stands for another one.
 */
export async function addVersion(
  host: Host,
  workflow: Workflow,
  name: string,
  isNew: boolean,
): Promise<PlanVersion | null> {
  const folder = mkdtempSync(join(tmpdir(), "uncaged-plan-"));
  const options = { sources: [planSource(() => undefined)] };
  try {
    const path = join(folder, "plan.json");
    writeFileSync(path, JSON.stringify(workflow, null, 2), { mode: 0o600 });
    try {
      const expected = isNew ? { expected: null } : {};
      return versionOf(await host.register(name, path, { ...options, ...expected }));
    } catch (error) {
      if (!isNew || !isWorkflowError(error) || !takenCodes.includes(error.code)) throw error;
    }
    const there = await host.workflow(name).catch(ifMissing);
    const { hash } = await host.store(path, options);
    return there?.hash === hash ? { name, hash } : null;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const takenCodes: readonly string[] = ["NAME_TAKEN", "VERSION_CONFLICT"];

const versionOf = ({ hash, name }: PlanVersion): PlanVersion => ({ name, hash });
