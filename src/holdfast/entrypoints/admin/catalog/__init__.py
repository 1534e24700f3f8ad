"""The pages of the catalog, and the forms that set up and change a sale."""
