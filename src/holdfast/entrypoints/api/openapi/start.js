// A null validatorUrl keeps the page from sending the schema to an outside service.
SwaggerUIBundle({
  url: "schema",
  dom_id: "#docs",
  deepLinking: true,
  validatorUrl: null,
  tryItOutEnabled: true,
});
