import { WorkflowError } from "@uncaged/workflow/host";

/* The errors of a cluster's bundles. */

export const bundleChanged = (hash: string): WorkflowError =>
  WorkflowError.failed(
    "BUNDLE_CHANGED",
    `bundle/${hash}: SHA-256 differs from the recorded one`,
    "add the original file again to restore it: uncaged-workflow add <name> <file>",
  );

export const bundleMissing = (hash: string): WorkflowError =>
  WorkflowError.missing(
    "BUNDLE_MISSING",
    `the cluster has no bundle ${hash}`,
    "add the same file again, or push it from a storage root that has it",
  );
