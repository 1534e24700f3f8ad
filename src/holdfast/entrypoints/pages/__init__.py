"""The pages for browsers: start page, demo cart, error pages and access to the admin."""
