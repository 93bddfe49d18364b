/** The longest record, in bytes: a message to a cluster has at most 32 MiB. */
export const maxRecordBytes = 31 * 1024 * 1024;
