// A certified OpenID Connect provider (panva's oidc-provider) over TLS. Whoever signs in is the
// person of the name that they type: see `claims`. It prints its port and runs until its end.
import { readFileSync } from "node:fs";
import { createServer } from "node:https";
import Provider from "oidc-provider";

const { CERTIFICATE, REDIRECT_URIS } = process.env;
const pem = readFileSync(CERTIFICATE);

const claims = (name) => ({
  sub: name,
  name,
  email: `${name}@example.com`,
  email_verified: name !== "unverified",
  groups: name === "chief" ? ["newsroom", "everyone"] : ["everyone"],
});

const server = createServer({ key: pem, cert: pem });
server.listen(0, "127.0.0.1", () => {
  const { port } = server.address();
  const provider = new Provider(`https://127.0.0.1:${port}`, {
    clients: [
      {
        client_id: "masthead",
        client_secret: "a secret of the client",
        redirect_uris: JSON.parse(REDIRECT_URIS),
      },
    ],
    claims: {
      openid: ["sub"],
      email: ["email", "email_verified"],
      profile: ["name"],
      groups: ["groups"],
    },
    scopes: ["openid", "email", "profile", "groups"],
    pkce: { required: () => true },
    cookies: { keys: ["a key of the tests"] },
    findAccount: (_, id) => ({ accountId: id, claims: () => claims(id) }),
  });
  server.on("request", provider.callback());
  console.log(`port ${port}`);
});
process.on("SIGTERM", () => process.exit(0));
