import { type Host, isWorkflowError } from "@uncaged/workflow/host";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { PlanMetadata, Workflow } from "../plan/plan.ts";
import { planSource } from "../source/source.ts";
import type { PlanDatabase } from "../store/database.ts";
import { bundleName } from "../store/rows.ts";
import type { PlanStore } from "../store/store.ts";
import { ifMissing } from "../runs/thread-log.ts";

const longestSlug = 56;

/** Returns the name under which a plan's bundle is registered, if it is free. */
export function slugOf(name: string): string {
  const plain = name.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
  const slug = plain.replace(/[^a-z0-9]+/g, "-").slice(0, longestSlug);
  const trimmed = slug.replace(/^-+|-+$/g, "");
  // Windows reserves these names, so a workflow can't have them.
  return /^(|con|prn|aux|nul|com\d|lpt\d)$/.test(trimmed)
    ? `plan${trimmed && `-${trimmed}`}`
    : trimmed;
}

/** Returns the n-th candidate for a name: the name itself, then the name with `-2`, `-3` and so on. */
const candidate = (slug: string, n: number): string => (n === 1 ? slug : `${slug}-${n}`);

/** A version of a plan's bundle. */
export type PlanVersion = { name: string; hash: string };

/** Builds a plan's bundle under its name, or under the first free candidate, and runs `act` in one transaction. */
export async function withVersion<Result>(
  host: Host,
  store: PlanStore,
  { id, metadata }: Workflow,
  workflow: Workflow,
  use: (bundle: PlanVersion, isShared: boolean) => Result,
): Promise<Result> {
  const own = metadata?.bundle?.name;
  const slug = slugOf(workflow.name);
  const source = new PlanFile(host);
  try {
    source.write(workflow);
    for (let n = 1; ; n += 1) {
      const name = own ?? candidate(slug, n);
      const added = await addVersion(host, source, name, own === undefined);
      if (added === null) continue;
      const { isShared, ...bundle } = added;
      const done = await store.change(() =>
        own === undefined && isUsed(store.database, name, id)
          ? null
          : { result: use(bundle, isShared) },
      );
      if (done) return done.result;
    }
  } finally {
    source.remove();
  }
}

/**
 * Frees a removed plan's name for the next plan of that name. The name's versions and threads stay. A name for which
 * another program registered a version stays unchanged.
 */
export async function freeName(
  host: Host,
  { database }: PlanStore,
  id: string,
  { bundle, shares_name }: PlanMetadata,
): Promise<void> {
  if (!bundle || shares_name === true || isUsed(database, bundle.name, id)) return;
  const there = await host.workflow(bundle.name).catch(ifMissing);
  if (there?.hash === bundle.hash) await host.unregister(bundle.name).catch(ifMissing);
}

/** Tells whether another plan has a name. A plan with damaged metadata does not count. */
function isUsed(database: PlanDatabase, name: string, id: string): boolean {
  const other = `SELECT 1 FROM workflows w WHERE id <> ? AND ${bundleName} = ?`;
  return database.rows(other, id, name).length > 0;
}

/** A plan in its own file, from which its bundle is built. */
class PlanFile {
  readonly #folder = mkdtempSync(join(tmpdir(), "uncaged-plan-"));
  readonly path = join(this.#folder, "plan.json");
  readonly options = { sources: [planSource(() => undefined)] };
  readonly #host: Host;
  #stored: Promise<{ hash: string }> | null = null;

  constructor(host: Host) {
    this.#host = host;
  }

  write(workflow: Workflow): void {
    writeFileSync(this.path, JSON.stringify(workflow, null, 2), { mode: 0o600 });
  }

  /** Returns the hash of the bundle. Builds it once, even if several names are compared with it. */
  async hash(): Promise<string> {
    return (await (this.#stored ??= this.#host.store(this.path, this.options))).hash;
  }

  remove(): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

/**
 * Builds a plan's bundle and makes it the current version of a name. The name must be free or already refer to this
 * bundle. Returns null if the name refers to another bundle.
 */
async function addVersion(
  host: Host,
  source: PlanFile,
  name: string,
  isNew: boolean,
): Promise<(PlanVersion & { isShared: boolean }) | null> {
  const { options, path } = source;
  const find = () => host.workflow(name).catch(ifMissing);
  const before = isNew ? await find() : null;
  if (!before) {
    try {
      const expected = isNew ? { expected: null } : {};
      const added = await host.register(name, path, { ...options, ...expected });
      return { name, hash: added.hash, isShared: isNew && added.unchanged };
    } catch (error) {
      if (!isNew || !isWorkflowError(error) || !takenCodes.includes(error.code)) throw error;
    }
  }
  const there = before ?? (await find());
  const hash = await source.hash();
  return there?.hash === hash ? { name, hash, isShared: true } : null;
}

const takenCodes: readonly string[] = ["NAME_TAKEN", "VERSION_CONFLICT"];
