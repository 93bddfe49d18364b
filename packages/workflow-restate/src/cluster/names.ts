/** The services that a worker serves, by the names that a cluster has them under. */
export const serviceNames = ["thread", "bundle", "workflow", "index", "plan"] as const;

export type ServiceName = (typeof serviceNames)[number];

/** What each of them has as its metadata, which sets it apart from another program's service of the same name. */
export const serviceMetadata = { program: "uncaged-workflow", format: "1" };
