import type { Environment } from "@uncaged/workflow/host";
import {
  isInside,
  clusterFolders,
  type EgressPolicy,
  modelEndpoints,
  privateIn,
  realOrNull,
  runsFolder,
} from "@uncaged/workflow/sandbox";
import { homedir, tmpdir } from "node:os";
import type { ProjectAccess } from "../agent/agent.ts";
import {
  blockedName,
  type CheckedMount,
  checkedMounts,
  mayWriteProject,
  type MountAllowlist,
  type MountRules,
  readAllowlist,
  writableRoots,
} from "../mount/mount.ts";
import type { PlanMetadata } from "../plan/plan.ts";
import { type SandboxSettings, sandboxSettings } from "../sandbox/options.ts";
import { chosenSandbox, type Sandbox } from "../sandbox/sandbox.ts";
import {
  folderMoved,
  mountsNotList,
  networkNotClosed,
  projectBlocked,
  projectIsRoot,
  projectMissing,
} from "./errors.ts";

/** The sandbox of a plan's steps on this machine, before its start. */
export type CheckedSandbox = {
  settings: SandboxSettings;
  sandbox: Sandbox;
  project: { path: string; access: ProjectAccess };
  mounts: CheckedMount[];
  /** Folders that must stay hidden although they may be inside visible folders, as paths without links. */
  hidden: string[];
  /** The folders that steps may write to: of this plan, and of other plans of the same user. */
  writable: string[];
  /** The reachable network; null without network access. */
  network: EgressPolicy | null;
};

/** The place where a plan's steps run. */
export type StepSite = {
  metadata: PlanMetadata;
  /** The working directory of the steps. */
  cwd: string;
  env: Environment;
  /** The plan home. If null, mounts are refused, and a sandbox is used only if the plan names one. */
  planHome: string | null;
  /** The user's own plan home, whose mount allowlist applies (default: the plan home). */
  userHome?: string;
  /** The storage root. */
  root: string | null;
  /** The addresses that the user's settings allow in addition to public addresses, each as `host:port`. */
  allow?: readonly string[];
};

const noMounts: MountAllowlist = {
  allowedRoots: [],
  blockedPatterns: [".ssh", ".gnupg", ".aws", ".docker"],
  nonMainReadOnly: false,
};

/**
 * Checks the sandbox of a plan's steps. Called at the plan's confirmation, and again at each start of a step.
 * @throws ConfigError
 */
export async function checkedSandbox(site: StepSite): Promise<CheckedSandbox> {
  const { allow = [], cwd, env, metadata, planHome, root } = site;
  const { userHome = planHome } = site;
  const named = metadata.sandbox ?? (planHome === null ? "off" : undefined);
  const settings = sandboxSettings(named);
  const allowlist = userHome === null ? noMounts : readAllowlist(userHome);
  const home = env.HOME ?? homedir();
  const rules: MountRules = { allowlist, home, cwd };
  const wanted = metadata.container?.additionalMounts ?? [];
  if (!Array.isArray(wanted)) throw mountsNotList();
  const mounts = checkedMounts(wanted, rules);
  const sandbox = await chosenSandbox(settings, env, [
    ...[realOrNull(cwd) ?? cwd, ...mounts.map(({ hostPath }) => hostPath)],
    // Steps of other plans may write there. Exclude the temporary folder, so that users can try out programs there.
    ...writableRoots(rules).filter((path) => !isInside(realOrNull(tmpdir()) ?? "", path)),
  ]);
  if (sandbox.kind === "off" && settings.network === "none") throw networkNotClosed();
  const access = mayWriteProject(rules) ? "read-write" : "read-only";
  const project: CheckedSandbox["project"] =
    sandbox.kind === "off"
      ? { path: cwd, access: "read-write" }
      : { path: realProject(rules), access };
  return {
    ...{ settings, sandbox, mounts, project },
    writable: [
      ...(project.access === "read-write" ? [project.path] : []),
      ...mounts.flatMap(({ hostPath, readonly }) => (readonly ? [] : [hostPath])),
      ...writableRoots(rules),
    ],
    hidden: [
      ...[root, planHome].flatMap((path) => (path === null ? [] : [realFolder(path)])),
      ...[
        ...privateIn(home, allowlist.blockedPatterns),
        ...clusterFolders(env),
        runsFolder(env),
      ].flatMap((path) => realOrNull(path) ?? []),
    ],
    network: settings.network === "none" ? null : { allow: [...allow, ...modelEndpoints(env)] },
  };
}

/**
 * Returns the real path of a folder that must be hidden.
 * @throws ConfigError if it is missing and may have another name
 */
function realFolder(path: string): string {
  const real = realOrNull(path);
  if (real !== null) return real;
  throw folderMoved(path);
}

function realProject(rules: MountRules): string {
  const path = realOrNull(rules.cwd);
  if (path === null) throw projectMissing(rules.cwd);
  if (path === "/") throw projectIsRoot(rules.cwd);
  const blocked = blockedName(path, rules);
  if (blocked !== null) throw projectBlocked(rules.cwd, blocked);
  return path;
}
