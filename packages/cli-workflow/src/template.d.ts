declare module "*.template" {
  const text: string;
  export default text;
}
