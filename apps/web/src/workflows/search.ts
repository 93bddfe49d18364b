/** The views of a workflow. */
export const workflowViews = ["versions", "roles", "graph", "source"] as const;

export type WorkflowView = (typeof workflowViews)[number];

/** What the address of a Workflow page holds. */
export type WorkflowSearch = {
  view?: WorkflowView;
  /** The hash of the version that is shown; the current one without it. */
  version?: string;
};

/** Reads an address; what it can't be is left out. */
export function readWorkflowSearch({ view, version }: Record<string, unknown>): WorkflowSearch {
  return {
    view: workflowViews.find((one) => one === view && one !== "versions"),
    version: typeof version === "string" && version !== "" ? version : undefined,
  };
}
