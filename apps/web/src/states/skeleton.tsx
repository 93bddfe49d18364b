import styles from "./states.module.css";

type Props = { lines?: number; what?: string };

/** Stands where something is being read. */
export function Skeleton({ lines = 6, what = "Loading" }: Props) {
  return (
    <div className={styles.skeleton} role="status" aria-label={what}>
      {Array.from({ length: lines }, (_, line) => (
        <span key={line} />
      ))}
    </div>
  );
}
