/** Names under which a worker registers its services in a cluster. */
export const serviceNames = ["thread", "bundle", "workflow", "index", "plan"] as const;

export type ServiceName = (typeof serviceNames)[number];

/** Metadata of each service. It distinguishes them from services of other programs with the same names. */
export const serviceMetadata = { program: "uncaged-workflow", format: "1" };
